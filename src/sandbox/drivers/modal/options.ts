/** @module Options of the modal backend. */
import * as z from "zod/mini";
import { option } from "../../../base/option.ts";

export const options = {
  modal_image: option(z.string().check(z.minLength(1)), {
    default: "debian:bookworm",
    help: "Modal: image of new sandboxes",
  }),
  modal_mode: option(z.enum(["auto", "direct", "managed"]), {
    default: "auto",
    help: "Modal: with your own account (direct), through a managed gateway (managed), or whichever is set up (auto)",
  }),
};
