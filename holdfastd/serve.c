#include "holdfastd.h"

#include <sys/signalfd.h>

enum { TERM_GRACE_MS = 2000, STUCK_MS = 5000, FILES_MAX = 65536 };

bool stopping;
static bool stuck, lost;
static struct watch signals = {.fd = -1};

int fail(const char *what, const char *name) {
  fprintf(stderr, "holdfastd: %s %s: %s\n", what, name, strerror(errno));
  return 1;
}

/* --- the end --- */

static void still_there(struct timer *timer) {
  (void)timer;
  stuck = true;
}

static struct timer stuck_timer = {.fire = still_there};

void serve_stop(uint64_t grace) {
  stopping = true;
  socket_pause();
  timer_set(&stuck_timer, now_ms() + (int64_t)grace + STUCK_MS);
  for (struct command *c = commands; c; c = c->next) command_kill(c, ON_REQUEST, grace);
}

/* A command can stop its keeper, also before that has told that it started. Others that are stopped are the user's affair. */
static void keeper_stopped(pid_t child) {
  for (struct command *c = commands; c; c = c->next)
    if (c->keeper == child) kill(child, SIGCONT);
}

static void signal_ready(struct watch *watch) {
  struct signalfd_siginfo info;
  if (read(watch->fd, &info, sizeof info) != sizeof info) return;
  if (info.ssi_signo != SIGCHLD) {
    lost = commands;
    serve_stop(TERM_GRACE_MS);
  }
  /* Keepers, and as pid 1 whatever lost its parent. */
  int status;
  pid_t child;
  while ((child = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0)
    if (WIFSTOPPED(status)) keeper_stopped(child);
}

static int read_secret(const char *path) {
  char text[65] = "";
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, 64);
  if (fd >= 0) close(fd);
  if (n < 0) return fail("cannot read", path);
  if (strspn(text, "0123456789abcdefABCDEF") < 64) {
    fprintf(stderr, "holdfastd: %s does not hold 64 hexadecimal digits\n", path);
    return 1;
  }
  for (int i = 0; i < 32; i++) secret[i] = (uint8_t)strtoul((char[]){text[2 * i], text[2 * i + 1], 0}, NULL, 16);
  return 0;
}

/* --- the process --- */

static int open_signals(void) {
  sigset_t set;
  for (int i = 1; i < NSIG; i++) signal(i, SIG_DFL);
  signal(SIGPIPE, SIG_IGN);
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_SETMASK, &set, NULL);
  signals = (struct watch){.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ready = signal_ready};
  return signals.fd >= 0 && watch_set(&signals, EPOLLIN) ? 0 : fail("cannot wait for", "signals");
}

static int open_descriptor_room(void) {
  int null = -1;
  close_all_but(-1, STDERR_FILENO + 1);
  /* Commands get descriptors 3 and 4 there: nothing of ours may sit in the way. */
  while (null < COMMAND_FDS - 1)
    if ((null = open("/dev/null", O_RDWR | O_CLOEXEC)) < 0) return fail("cannot open", "/dev/null");
  getrlimit(RLIMIT_NOFILE, &original_files);
  struct rlimit more = original_files;
  more.rlim_cur = more.rlim_max < FILES_MAX ? more.rlim_max : FILES_MAX;
  if (more.rlim_cur > original_files.rlim_cur) setrlimit(RLIMIT_NOFILE, &more);
  original_umask = umask(077);
  return 0;
}

static int open_all(const struct serve_options *options) {
  int code = options->door && chmod(options->door, 0700) < 0 ? fail("cannot close", options->door) : read_secret(options->secret_file);
  if (!code && !loop_open()) code = fail("cannot open", "epoll");
  if (!code) code = open_signals();
  if (!code) code = socket_open(options->socket);
  if (!code && !processes_open(options->state)) code = fail("cannot use the state directory", options->state);
  return code;
}

/* The starter waits until the daemon accepts connections, and reports its failure as its own. */
static int detach(int *ready) {
  int ends[2], status;
  char byte;
  if (pipe2(ends, O_CLOEXEC) < 0) return fail("cannot make", "a pipe");
  pid_t pid = fork();
  if (pid < 0) return fail("cannot fork", "");
  if (pid == 0) {
    setsid();
    close(ends[0]);
    *ready = ends[1];
    return 0;
  }
  close(ends[1]);
  if (read(ends[0], &byte, 1) == 1) exit(0);
  waitpid(pid, &status, 0);
  exit(WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 1);
}

int serve(const struct serve_options *options) {
  int ready = -1, code = open_descriptor_room();
  if (!code && options->background) code = detach(&ready);
  if (!code) code = open_all(options);
  if (code) return code;
  for (int fd = 0; fd <= (options->background ? STDERR_FILENO : STDIN_FILENO); fd++) dup2(STDERR_FILENO + 1, fd);
  /* Where the starter happens to be is not kept busy. */
  if (chdir("/") < 0) return fail("cannot enter", "/");
  status_open(options->idle_stop);
  if (ready >= 0 && write(ready, "", 1) == 1) close(ready);
  for (;;) {
    bool more = connections_run();
    /* What was just read may have been the request to stop. */
    if (stopping && (!commands || stuck)) break;
    loop_turn(more);
  }
  connections_run();
  /* A socket that nobody answers tells whoever comes next that something was ended which should have gone on. */
  if (!lost) socket_remove();
  return 0;
}
