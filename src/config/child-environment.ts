/** @module What the commands of a sandbox on this machine may inherit from the caller's environment (S39). */
import type { Environment } from "./environment.ts";

/** Credentials of model providers, of chat gateways and of hosted backends. Names, not patterns: a person can see what is withheld. */
export const CREDENTIAL_VARIABLES: ReadonlySet<string> = new Set([
  // Model providers
  "AI21_API_KEY",
  "ALIBABA_API_KEY",
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_AUTH_TOKEN",
  "ANTHROPIC_TOKEN",
  "ANYSCALE_API_KEY",
  "AWS_BEARER_TOKEN_BEDROCK",
  "AZURE_API_KEY",
  "AZURE_OPENAI_AD_TOKEN",
  "AZURE_OPENAI_API_KEY",
  "CEREBRAS_API_KEY",
  "CLAUDE_CODE_OAUTH_TOKEN",
  "CO_API_KEY",
  "COHERE_API_KEY",
  "DASHSCOPE_API_KEY",
  "DEEPGRAM_API_KEY",
  "DEEPINFRA_API_KEY",
  "DEEPSEEK_API_KEY",
  "ELEVENLABS_API_KEY",
  "FAL_KEY",
  "FIREWORKS_API_KEY",
  "GEMINI_API_KEY",
  "GLM_API_KEY",
  "GOOGLE_AI_API_KEY",
  "GOOGLE_API_KEY",
  "GOOGLE_GENERATIVE_AI_API_KEY",
  "GROQ_API_KEY",
  "HF_TOKEN",
  "HOLDFAST_MODEL_API_KEY",
  "HUGGINGFACE_API_KEY",
  "HUGGINGFACE_HUB_TOKEN",
  "HUGGINGFACEHUB_API_TOKEN",
  "HUGGING_FACE_HUB_TOKEN",
  "KIMI_API_KEY",
  "MINIMAX_API_KEY",
  "MISTRAL_API_KEY",
  "MOONSHOT_API_KEY",
  "NEBIUS_API_KEY",
  "NOUS_API_KEY",
  "NVIDIA_API_KEY",
  "OLLAMA_API_KEY",
  "OPENAI_ADMIN_KEY",
  "OPENAI_API_KEY",
  "OPENROUTER_API_KEY",
  "PERPLEXITY_API_KEY",
  "PPLX_API_KEY",
  "REPLICATE_API_KEY",
  "REPLICATE_API_TOKEN",
  "SAMBANOVA_API_KEY",
  "STABILITY_API_KEY",
  "TOGETHER_API_KEY",
  "TOGETHERAI_API_KEY",
  "VOYAGE_API_KEY",
  "WATSONX_APIKEY",
  "XAI_API_KEY",
  "ZAI_API_KEY",
  "ZHIPUAI_API_KEY",
  // Chat gateways
  "DINGTALK_CLIENT_SECRET",
  "DISCORD_BOT_TOKEN",
  "DISCORD_TOKEN",
  "FEISHU_APP_SECRET",
  "LINE_CHANNEL_ACCESS_TOKEN",
  "LINE_CHANNEL_SECRET",
  "MATRIX_ACCESS_TOKEN",
  "MATRIX_PASSWORD",
  "MATTERMOST_TOKEN",
  "SLACK_APP_TOKEN",
  "SLACK_BOT_TOKEN",
  "SLACK_SIGNING_SECRET",
  "SLACK_USER_TOKEN",
  "TEAMS_CLIENT_SECRET",
  "TELEGRAM_BOT_TOKEN",
  "TELEGRAM_TOKEN",
  "TELEGRAM_WEBHOOK_SECRET",
  "TWILIO_AUTH_TOKEN",
  "WHATSAPP_ACCESS_TOKEN",
  "WHATSAPP_APP_SECRET",
  "WHATSAPP_TOKEN",
  "WHATSAPP_VERIFY_TOKEN",
  // Hosted backends
  "DAYTONA_API_KEY",
  "DAYTONA_JWT_TOKEN",
  "MODAL_TOKEN_ID",
  "MODAL_TOKEN_SECRET",
]);

const OWN_SECRET = /^HOLDFAST_.*_(?:KEY|TOKEN|SECRET|PASSWORD)$/;
const DOTENV_SECRET = /_(?:AUTH|CREDENTIALS|KEY|PASS|PASSWD|PASSWORD|PAT|SECRET|TOKEN)$/;

/** Whether a variable holds a credential that commands get only when a person names it. */
export function isCredential(name: string): boolean {
  return CREDENTIAL_VARIABLES.has(name) || OWN_SECRET.test(name);
}

/** Whether what stands under this name in a profile's own files is a secret: there a name that looks like one is one. */
export function looksLikeCredential(name: string): boolean {
  return isCredential(name) || DOTENV_SECRET.test(name.toUpperCase()) || /^(?:(?:PG|SSL)?PASSWORD|SECRET|TOKEN|API_?KEY)$/i.test(name);
}

/**
 * The caller's environment without credentials. `dotenv` is the profile's `.env`: what looks like a secret there is one, whatever service
 * it belongs to, also when the caller exported it.
 */
export function withoutCredentials(environment: Environment, dotenv: Readonly<Record<string, string>> = {}): Record<string, string> {
  const secret = (name: string) => isCredential(name) || (Object.hasOwn(dotenv, name) && DOTENV_SECRET.test(name));
  const entries = Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined && !secret(entry[0]));
  return Object.fromEntries(entries);
}
