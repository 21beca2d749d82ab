#include "holdfastd.h"

static int usage(void) {
  fputs("usage: holdfastd serve --socket PATH --state DIR --secret-file PATH [--idle-stop SECONDS] [--door DIR] [--background]\n"
        "       holdfastd relay --socket PATH\n"
        "       holdfastd version\n",
        stderr);
  return 2;
}

int main(int argc, char **argv) {
  struct serve_options options = {0};
  const char *verb = argc > 1 ? argv[1] : "";
  for (int i = 2; i < argc; i++) {
    char *end = "", *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (!strcmp(argv[i], "--background")) {
      options.background = true;
      continue;
    }
    if (!value) return usage();
    if (!strcmp(argv[i], "--socket")) {
      options.socket = value;
    } else if (!strcmp(argv[i], "--state")) {
      options.state = value;
    } else if (!strcmp(argv[i], "--secret-file")) {
      options.secret_file = value;
    } else if (!strcmp(argv[i], "--door")) {
      options.door = value;
    } else if (!strcmp(argv[i], "--idle-stop")) {
      options.idle_stop = (uint32_t)strtoul(value, &end, 10);
    } else {
      return usage();
    }
    if (*end) return usage();
    i++;
  }
  if (!strcmp(verb, "serve") && options.socket && options.state && options.secret_file) return serve(&options);
  if (!strcmp(verb, "relay") && options.socket && argc == 4) return relay(options.socket);
  if (!strcmp(verb, "version") && argc == 2) return puts(BUILD) < 0;
  return usage();
}
