#include "holdfastd.h"

#include <sys/syscall.h>

/* Between two rounds of killing; and what a tree gets whose daemon has died. */
enum { ROUND_MS = 10, ORPHAN_GRACE_MS = 2000, FREEZE_PASSES = 10 };

mode_t original_umask;
struct rlimit original_files;

struct member {
  pid_t pid, parent;
  char state;
  bool ours;
};

static int compare_members(const void *a, const void *b) {
  pid_t x = ((const struct member *)a)->pid, y = ((const struct member *)b)->pid;
  return (x > y) - (x < y);
}

static bool read_member(int proc, const char *name, struct member *member) {
  char path[300], text[512];
  snprintf(path, sizeof path, "%s/stat", name);
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (n <= 0) return false;
  text[n] = 0;
  /* The name of the program stands in brackets and may hold anything, brackets too. */
  const char *rest = strrchr(text, ')');
  if (!rest || strlen(rest) < 5) return false;
  *member = (struct member){.pid = atoi(name), .state = rest[2], .parent = atoi(rest + 4)};
  return true;
}

/* All processes, those of our tree marked. The list is to be freed; NULL if there is no /proc. */
static struct member *list_members(size_t *count) {
  struct member *list = NULL, member;
  size_t size = 0;
  DIR *proc = opendir("/proc");
  *count = 0;
  for (struct dirent *entry; proc && (entry = readdir(proc));) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || !read_member(dirfd(proc), entry->d_name, &member)) continue;
    if (*count == size) {
      struct member *larger = realloc(list, (size = size * 2 + 64) * sizeof *list);
      if (!larger) break;
      list = larger;
    }
    list[(*count)++] = member;
  }
  if (proc) closedir(proc);
  if (*count) qsort(list, *count, sizeof *list, compare_members);
  /* Children mostly have higher numbers than their parents, so one pass finds nearly all. */
  for (bool found = true; found;) {
    found = false;
    for (size_t i = 0; i < *count; i++) {
      struct member key = {.pid = list[i].parent}, *parent;
      if (list[i].ours) continue;
      parent = bsearch(&key, list, *count, sizeof *list, compare_members);
      if (list[i].parent == getpid() || (parent && parent->ours)) found = list[i].ours = true;
    }
  }
  return list;
}

struct tally {
  size_t running; /* neither stopped nor dead before the signal came */
  size_t reached;
  size_t refused; /* not ours to kill: a set-uid program */
};

/* Each of the signals to each process of the tree. */
static struct tally signal_tree(pid_t command, int first, int second) {
  struct tally tally = {0};
  size_t count;
  struct member *list = list_members(&count);
  /* Without /proc only the command's own group can be found. */
  if (!list && command) kill(-command, first), kill(-command, second);
  if (!list) tally.refused = !command;
  for (size_t i = 0; i < count; i++) {
    bool dead = list[i].state == 'Z' || list[i].state == 'X';
    if (!list[i].ours) continue;
    if (!dead && list[i].state != 'T' && list[i].state != 't') tally.running++;
    /* Also the dead: of a process whose first thread has ended, the others may live on. */
    int result = kill(list[i].pid, first);
    if (second) kill(list[i].pid, second);
    if (result == 0) tally.reached++;
    if (result < 0 && errno == EPERM && !dead) tally.refused++;
  }
  free(list);
  return tally;
}

/* Freezes the tree until nothing in it runs that could fork, then kills it. False: only others' processes are left. */
static bool kill_round(pid_t command) {
  for (int pass = 0; pass < FREEZE_PASSES && signal_tree(command, SIGSTOP, 0).running; pass++) continue;
  struct tally tally = signal_tree(command, SIGKILL, 0);
  return tally.reached || !tally.refused;
}

static int execute(const struct launch *launch) {
  const char *program = launch->argv[0], *path = NULL;
  char full[4096];
  int error = ENOENT;
  if (strchr(program, '/')) {
    execve(program, launch->argv, launch->env);
    return errno;
  }
  for (char **e = launch->env; *e; e++)
    if (!strncmp(*e, "PATH=", 5)) path = *e + 5;
  if (!path) path = getenv("PATH");
  if (!path) path = "/usr/local/bin:/usr/bin:/bin";
  for (const char *end; *program && path; path = *end ? end + 1 : NULL) {
    end = strchrnul(path, ':');
    int n = snprintf(full, sizeof full, "%.*s%s%s", (int)(end - path), path, end > path ? "/" : "", program);
    if (n >= (int)sizeof full) continue;
    execve(full, launch->argv, launch->env);
    if (errno != ENOENT && errno != ENOTDIR && error != EACCES) error = errno;
  }
  return error;
}

/* Runs in the memory of the keeper, after vfork: sets only the note, and never returns. */
static _Noreturn void become_command(const struct launch *launch, struct note *note) {
  sigset_t none;
  setsid();
  if (launch->pty) ioctl(launch->fds[0], TIOCSCTTY, 0);
  /* Should somebody kill the keeper, at least the command does not escape. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  umask(original_umask);
  setrlimit(RLIMIT_NOFILE, &original_files);
  if (chdir(*launch->cwd ? launch->cwd : "/") < 0) {
    *note = (struct note){.what = NOTE_FAILED, .value = errno};
    snprintf(note->text, sizeof note->text, "cannot enter the working directory %s", launch->cwd);
    _exit(127);
  }
  for (int i = 0; i < COMMAND_FDS; i++)
    if (launch->fds[i] >= 0) dup2(launch->fds[i], i);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGCHLD, SIG_DFL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  *note = (struct note){.what = NOTE_FAILED, .value = execute(launch)};
  snprintf(note->text, sizeof note->text, "cannot run %s", launch->argv[0]);
  _exit(127);
}

void close_all_but(int kept, int first) {
  int low = kept < first ? first : kept + 1;
  if (kept > first) syscall(SYS_close_range, first, kept - 1, 0);
  if (syscall(SYS_close_range, low, ~0U, 0) == 0) return;
  for (int fd = first, end = (int)sysconf(_SC_OPEN_MAX); fd < end; fd++)
    if (fd != kept) close(fd);
}

static void wake_up(int signal) { (void)signal; }

static pid_t launch_command(const struct launch *launch, int control) {
  struct note note = {.what = NOTE_STARTED};
  pid_t command = vfork();
  if (command == 0) become_command(launch, &note);
  if (command < 0) {
    note = (struct note){.what = NOTE_FAILED, .value = errno, .text = "cannot fork"};
  } else if (note.what == NOTE_STARTED) {
    note.value = command;
  }
  send(control, &note, sizeof note, MSG_NOSIGNAL);
  return note.what == NOTE_STARTED ? command : 0;
}

/* The life of a keeper: starts the command, buries what dies, kills when told to or when the daemon is gone. */
static _Noreturn void keep(const struct launch *launch, int control) {
  sigset_t all, waiting;
  struct order order;
  struct pollfd socket = {.fd = control, .events = POLLIN};
  int64_t kill_at = INT64_MAX;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  sigfillset(&waiting);
  sigdelset(&waiting, SIGCHLD);
  sigaction(SIGCHLD, &(struct sigaction){.sa_handler = wake_up}, NULL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "keeper");
  /* As /proc/PID/fd/3 and 4 they stay open here: a command may close its own, so that nothing that it starts inherits them. */
  for (int i = STDERR_FILENO + 1; i < COMMAND_FDS; i++)
    if (launch->fds[i] >= 0) dup2(launch->fds[i], i);
  pid_t command = launch_command(launch, control);
  control = socket.fd = dup2(control, COMMAND_FDS);
  for (int i = 0; i <= STDERR_FILENO; i++) close(i);
  close_all_but(-1, COMMAND_FDS + 1);
  for (;;) {
    int status;
    pid_t dead;
    while ((dead = waitpid(-1, &status, WNOHANG)) > 0) {
      if (dead != command) continue;
      command = 0;
      struct note note = {.what = NOTE_ENDED, .value = status};
      send(control, &note, sizeof note, MSG_NOSIGNAL);
    }
    if (dead < 0 && errno == ECHILD) _exit(0);
    int64_t wait = kill_at == INT64_MAX ? -1 : kill_at - now_ms();
    if (kill_at != INT64_MAX && wait <= 0) {
      if (!kill_round(command)) _exit(0);
      kill_at = now_ms() + ROUND_MS;
      continue;
    }
    struct timespec timeout = {.tv_sec = wait / 1000, .tv_nsec = wait % 1000 * 1000000};
    if (ppoll(&socket, 1, wait < 0 ? NULL : &timeout, &waiting) <= 0) continue;
    if (recv(control, &order, sizeof order, 0) != sizeof order) {
      order = (struct order){.what = ORDER_KILL, .value = ORPHAN_GRACE_MS};
      socket.fd = -1;
    }
    if (order.what == ORDER_SIGNAL) {
      if (command) kill(-command, (int)order.value);
    } else {
      if (kill_at == INT64_MAX) signal_tree(command, SIGTERM, SIGCONT);
      int64_t at = now_ms() + order.value;
      if (at < kill_at) kill_at = at;
    }
  }
}

int keeper_start(const struct launch *launch, pid_t *keeper) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return -1;
  pid_t pid = fork();
  if (pid == 0) {
    close(pair[0]);
    keep(launch, pair[1]);
  }
  int error = errno;
  close(pair[1]);
  if (pid < 0) {
    close(pair[0]);
    errno = error;
    return -1;
  }
  fcntl(pair[0], F_SETFL, O_NONBLOCK);
  *keeper = pid;
  return pair[0];
}
