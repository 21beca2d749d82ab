/** @module Loaded before a program (`node --import`): its wall clock is ahead by the milliseconds that stand in the file FAULTS_CLOCK. */
import { readFileSync } from "node:fs";

const file = process.env.FAULTS_CLOCK;
if (file !== undefined) {
  const real = Date.now.bind(Date);
  Date.now = () => real() + Number(readFileSync(file, "utf8"));
}
