import { describe, expect, test } from "vitest";
import { CREDENTIAL_VARIABLES, withoutCredentials } from "./child-environment.ts";

describe("S39 what a local sandbox inherits", () => {
  test.each([...CREDENTIAL_VARIABLES])("%s is withheld", (name) => {
    expect(withoutCredentials({ PATH: "/bin", [name]: "secret" })).toEqual({ PATH: "/bin" });
  });

  // One name of each service, so that a line lost from the list is noticed.
  test.each(
    (
      "OPENAI_API_KEY ANTHROPIC_API_KEY GOOGLE_API_KEY GEMINI_API_KEY MISTRAL_API_KEY GROQ_API_KEY DEEPSEEK_API_KEY XAI_API_KEY " +
      "OPENROUTER_API_KEY TOGETHER_API_KEY COHERE_API_KEY AZURE_OPENAI_API_KEY AWS_BEARER_TOKEN_BEDROCK HF_TOKEN REPLICATE_API_TOKEN " +
      "FIREWORKS_API_KEY PERPLEXITY_API_KEY NVIDIA_API_KEY CEREBRAS_API_KEY TELEGRAM_BOT_TOKEN DISCORD_BOT_TOKEN SLACK_BOT_TOKEN " +
      "SLACK_APP_TOKEN WHATSAPP_TOKEN MODAL_TOKEN_ID MODAL_TOKEN_SECRET DAYTONA_API_KEY"
    ).split(" "),
  )("%s is on the list", (name) => expect(CREDENTIAL_VARIABLES.has(name)).toBe(true));

  test("Holdfast's own secrets are withheld, its settings are not", () => {
    const secrets = { HOLDFAST_API_KEY: "1", HOLDFAST_HTTP_TOKEN: "2", HOLDFAST_DB_PASSWORD: "3", HOLDFAST_X_SECRET: "4" };
    expect(withoutCredentials({ ...secrets, HOLDFAST_HOME: "/h", HOLDFAST_PROFILE: "p" })).toEqual({
      HOLDFAST_HOME: "/h",
      HOLDFAST_PROFILE: "p",
    });
  });

  test("what looks like a secret in the profile's .env is withheld, whoever exported it", () => {
    const kinds = ["API_KEY", "AUTH", "CREDENTIALS", "KEY", "PASS", "PASSWD", "PASSWORD", "PAT", "SECRET", "TOKEN", "URL", "PATH"];
    const dotenv = Object.fromEntries(kinds.map((kind) => [`ACME_${kind}`, "x"]));
    const environment = { ...dotenv, ACME_URL: "5", OTHER_TOKEN: "6" };
    expect(withoutCredentials(environment, dotenv)).toEqual({ ACME_URL: "5", ACME_PATH: "x", OTHER_TOKEN: "6" });
  });

  test("everything else stays: tools need it", () => {
    const environment = { PATH: "/bin", HOME: "/h", LANG: "C", GITHUB_TOKEN: "t", SSH_AUTH_SOCK: "/s", AWS_PROFILE: "p", EMPTY: "" };
    expect(withoutCredentials(environment)).toEqual(environment);
    expect(withoutCredentials({ A: undefined, B: "1" })).toEqual({ B: "1" });
  });
});
