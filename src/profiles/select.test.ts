import { expect, test } from "vitest";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { createProfiles } from "./profiles.ts";
import { selectProfile } from "./select.ts";

test("K3 flag, then variable, then the sticky choice, then default", async () => {
  await using directory = await temporaryDirectory();
  const profiles = createProfiles(directory.path);
  for (const name of ["a", "b", "c"]) await profiles.create(name);
  const chosen = async (flag?: string, variable?: string) => {
    const { name, chosenBy } = await selectProfile(profiles, { flag, variable });
    return `${name} by ${chosenBy}`;
  };
  expect(await chosen()).toBe("default by default");
  await profiles.use("a");
  expect(await chosen()).toBe("a by use");
  expect(await chosen(undefined, " ")).toBe("a by use");
  expect(await chosen(undefined, "B")).toBe("b by variable");
  expect(await chosen("c", "b")).toBe("c by flag");
  expect(await chosen("default", "b")).toBe("default by flag");
});

test("K3 a choice that does not exist is never replaced by the next one", async () => {
  await using directory = await temporaryDirectory();
  const profiles = createProfiles(directory.path);
  await profiles.create("reviewer");
  await expect(selectProfile(profiles, { flag: "nosuch", variable: "reviewer" })).rejects.toMatchObject({ code: "profile-not-found" });
  // An empty flag was meant to say something.
  await expect(selectProfile(profiles, { flag: "", variable: "reviewer" })).rejects.toMatchObject({ code: "invalid-name" });
  await expect(selectProfile(profiles, { flag: undefined, variable: "../x" })).rejects.toMatchObject({
    code: "invalid-name",
    message: expect.stringContaining("(chosen by HOLDFAST_PROFILE)"),
  });
  await expect(selectProfile(profiles, { flag: undefined, variable: "reviewr" })).rejects.toMatchObject({
    hint: expect.stringMatching(/^did you mean "reviewer"\? `holdfast profile list --profile default` shows/),
  });
});
