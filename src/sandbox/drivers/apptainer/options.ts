/** @module Options of the apptainer backend (apptainer and singularity). */
import * as z from "zod/mini";
import { option } from "../../../base/option.ts";

export const options = {
  singularity_image: option(z.string().check(z.minLength(1)), {
    default: "docker://debian:bookworm",
    help: "Apptainer: image of new sandboxes, as a file or an address",
  }),
};
