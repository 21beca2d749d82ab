/** @module The model behind decompose and specify: any endpoint that speaks like OpenAI's. Its key is HOLDFAST_MODEL_API_KEY in `.env`. */
import * as z from "zod/mini";
import { option } from "../base/option.ts";

export const modelOptions = {
  base_url: option(z.nullable(z.string()), {
    default: null,
    help: "Address of the endpoint, up to and without /chat/completions; not set: there is no model",
  }),
  name: option(z.string(), { default: "", help: "Name of the model, as the endpoint knows it" }),
  timeout_seconds: option(z.int().check(z.minimum(1), z.maximum(3600)), { default: 180, help: "Seconds to wait for an answer" }),
  max_output_tokens: option(z.int().check(z.minimum(100)), { default: 4000, help: "Most tokens of an answer" }),
  temperature: option(z.number().check(z.minimum(0), z.maximum(2)), { default: 0.3, help: "How freely the model answers" }),
};
