/** @module Options of the ssh backend. */
import * as z from "zod/mini";
import { option } from "../../../base/option.ts";

export const options = {
  ssh_host: option(z.nullable(z.string()), {
    default: null,
    help: "SSH: name or address of the machine, or an alias from your ssh configuration",
  }),
  ssh_user: option(z.nullable(z.string()), {
    default: null,
    help: "SSH: user on that machine; not set: as your ssh configuration says",
  }),
  ssh_port: option(z.int().check(z.minimum(1), z.maximum(65_535)), {
    default: 22,
    help: "SSH: port of that machine",
  }),
  ssh_key: option(z.nullable(z.string()), {
    default: null,
    help: "SSH: file with the private key; not set: as your ssh configuration says",
  }),
};
