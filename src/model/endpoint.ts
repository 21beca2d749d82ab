/** @module Where the model is, and the key it wants. */
import { HoldfastError } from "../base/errors.ts";

const PATH = "chat/completions";

export interface Endpoint {
  readonly url: string;
  /** For people: without a query, which may hold a key. */
  readonly shown: string;
}

/** @throws `model-not-configured` */
export function endpointOf(baseUrl: string): Endpoint {
  const url = URL.parse(baseUrl.trim());
  if (url === null || !["http:", "https:"].includes(url.protocol)) throw unusable("model.base_url is not the address of a web server");
  if (url.username !== "" || url.password !== "") throw unusable("model.base_url must not hold a user or password");
  url.hash = "";
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/${PATH}`;
  return { url: url.href, shown: url.host };
}

/** fetch would print a key that it cannot send. @throws `model-not-configured` */
export function checkKey(key: string | undefined): void {
  if (key === undefined || /^[\x21-\x7e]+$/.test(key)) return;
  throw unusable("HOLDFAST_MODEL_API_KEY holds blanks, line breaks or other characters that no key has");
}

function unusable(message: string): HoldfastError {
  return new HoldfastError("model-not-configured", message, {
    hint: "model.base_url is like https://host/v1, and the key is HOLDFAST_MODEL_API_KEY in `.env`",
  });
}
