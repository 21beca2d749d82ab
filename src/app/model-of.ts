/** @module The model of a profile: its `model:` settings and its key. */
import { HoldfastError } from "../base/errors.ts";
import { createModel, type Model } from "../model/client.ts";
import type { App } from "./create-app.ts";

/** @throws `model-not-configured` */
export async function modelOf(app: App): Promise<Model> {
  const model = await modelIfAny(app);
  if (model !== null) return model;
  throw new HoldfastError("model-not-configured", `the profile ${app.profile.name} has no model`, { facts: { profile: app.profile.name } });
}

/** Null when none is configured. @throws `model-not-configured` for settings that cannot be used */
export async function modelIfAny(app: App): Promise<Model | null> {
  const { values, dotenv } = await app.config();
  const { base_url: baseUrl, name, timeout_seconds: seconds, max_output_tokens: maxOutputTokens, temperature } = values.model;
  if (!baseUrl?.trim()) return null;
  if (name.trim() === "") {
    throw new HoldfastError("model-not-configured", "model.base_url is set, but model.name is not", {
      hint: "`holdfast config set model.name NAME`, as the endpoint knows it",
    });
  }
  const key = (app.environment.HOLDFAST_MODEL_API_KEY ?? dotenv.HOLDFAST_MODEL_API_KEY)?.trim() || undefined;
  return createModel({ baseUrl, name, key, timeoutMs: seconds * 1000, maxOutputTokens, temperature, clock: app.clock });
}
