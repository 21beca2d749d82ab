#include "holdfastd.h"

enum { EXIT_NO_DAEMON = 4 };

/* Copies until either side closes. */
static void copy(int from, int to) {
  for (ssize_t n; (n = read(from, scratch, OUTPUT_MAX)) > 0;)
    if (write_all(to, scratch, (size_t)n)) return;
}

int relay(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool fits = strlen(path) < sizeof address.sun_path;
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  errno = ENAMETOOLONG;
  if (!fits || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
    fprintf(stderr, "holdfastd: cannot connect to %s: %s\n", path, strerror(errno));
    return EXIT_NO_DAEMON;
  }
  signal(SIGPIPE, SIG_IGN);
  /* One process for each way; the first whose way ends takes the other with it, also when it is killed. */
  pid_t parent = getpid(), child = fork();
  if (child < 0) return EXIT_NO_DAEMON;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    copy(STDIN_FILENO, fd);
    shutdown(fd, SHUT_RDWR);
    _exit(0);
  }
  copy(fd, STDOUT_FILENO);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return 0;
}
