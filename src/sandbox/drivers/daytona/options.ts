/** @module Options of the daytona backend. */
import * as z from "zod/mini";
import { option } from "../../../base/option.ts";

export const options = {
  daytona_image: option(z.string().check(z.minLength(1)), {
    default: "debian:bookworm",
    help: "Daytona: image of new sandboxes",
  }),
};
