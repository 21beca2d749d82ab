/** @module A configuration value as people and programs outside see it. */
import * as z from "zod/mini";
import { urlWithoutPassword, withoutPasswords } from "../base/without-password.ts";
import type { Explanation } from "../config/load.ts";
import { describeSource, type Setting } from "../config/source.ts";
import type { ConfigEntry, ConfigSetting } from "./results.ts";

const SettingShape = z.object({
  value: z.unknown(),
  /** Where it comes from, in words. */
  source: z.string(),
});

export const ConfigEntryShape = z.extend(SettingShape, {
  key: z.string(),
  variable: z.string(),
  default: z.unknown(),
  help: z.string(),
  /** What would count if this value were not there, the next first. */
  shadowed: z.readonly(z.array(SettingShape)),
});

export function configEntry({ key, shadowed, ...setting }: Explanation): ConfigEntry {
  return {
    key: key.key,
    ...settingOutput(setting),
    variable: key.variable,
    default: key.default,
    help: key.help,
    shadowed: shadowed.map(settingOutput),
  };
}

function settingOutput({ value, source }: Setting): ConfigSetting {
  return { value: withoutPasswords(value, urlWithoutPassword), source: describeSource(source) };
}
