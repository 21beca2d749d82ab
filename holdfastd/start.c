#include "holdfastd.h"

enum { FLAG_INPUT = 1, FLAG_MERGE = 2, FLAG_PTY = 4, FLAG_INHERIT = 8, FLAGS_ALL = 15, ARGUMENTS_MAX = 4096 };

/* A pipe between the command's descriptor `number` and the daemon. */
static bool open_pipe(struct command *c, struct launch *launch, int number) {
  int ends[2];
  struct watch *watch = number ? &c->streams[number - 1].watch : &c->input;
  if (pipe2(ends, O_CLOEXEC) < 0) return false;
  launch->fds[number] = ends[number ? 1 : 0];
  watch->fd = ends[number ? 0 : 1];
  fcntl(watch->fd, F_SETFL, O_NONBLOCK);
  return true;
}

static bool open_pty(struct command *c, struct launch *launch) {
  int unlock = 0, main = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  c->streams[0].watch.fd = main;
  if (main < 0 || ioctl(main, TIOCSPTLCK, &unlock) < 0) return false;
  launch->fds[0] = launch->fds[1] = launch->fds[2] = ioctl(main, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  /* Writing waits for other things than reading, and one descriptor can be watched only once. */
  c->input.fd = fcntl(main, F_DUPFD_CLOEXEC, 0);
  return launch->fds[0] >= 0 && c->input.fd >= 0;
}

static bool open_descriptors(struct command *c, struct launch *launch, uint8_t flags) {
  if (c->state && (!open_pipe(c, launch, 3) || !open_pipe(c, launch, 4))) return false;
  if (c->pty) return open_pty(c, launch);
  launch->fds[0] = STDIN_FILENO; /* the daemon's own, which is /dev/null */
  if (flags & FLAG_INPUT && !open_pipe(c, launch, 0)) return false;
  if (!open_pipe(c, launch, 1)) return false;
  launch->fds[2] = launch->fds[1];
  return flags & FLAG_MERGE || open_pipe(c, launch, 2);
}

static void close_command_side(struct launch *launch) {
  for (int i = 0; i < COMMAND_FDS; i++) {
    bool again = i > 0 && i < 3 && launch->fds[i] == launch->fds[i - 1];
    if (launch->fds[i] > STDERR_FILENO && !again) close(launch->fds[i]);
  }
}

/* The daemon's own variables but for those that are given anew, and these. NULL: there is no memory. */
static char **join_environment(char **given) {
  size_t count = 0, n = 0;
  for (char **own = environ; *own; own++) count++;
  for (char **more = given; *more; more++) count++;
  char **all = calloc(count + 1, sizeof *all);
  for (char **own = environ; all && *own; own++) {
    char **same = given;
    while (*same && strncmp(*same, *own, strcspn(*own, "=") + 1)) same++;
    if (!*same) all[n++] = *own;
  }
  for (char **more = given; all && *more; more++) all[n++] = *more;
  return all;
}

static struct command *command_open(struct connection *connection, uint32_t id) {
  struct command *c = channel_open(connection, id, sizeof *c, &call_type);
  if (!c) return NULL;
  c->control = (struct watch){.fd = -1, .ready = command_control_ready};
  c->input = (struct watch){.fd = -1, .ready = input_ready};
  for (int i = 0; i < STREAMS; i++)
    c->streams[i] = (struct stream){.watch = {.fd = -1, .ready = command_stream_ready}, .command = c, .number = (uint8_t)(i + 1)};
  c->timeout.fire = command_late;
  c->saving.fd = -1;
  c->next = commands;
  c->link = &commands;
  if (commands) commands->link = &c->next;
  commands = c;
  return c;
}

/* The fields of START, by their place among the numbers and the texts of the frame. */
enum { KIND, FLAGS, TIMEOUT, GRACE, GRANT, ROWS, COLUMNS, CAP };
enum { CWD, STATE, NAME, SHOWN };

/* False with errno set: nothing was started. */
static bool command_launch(struct command *c, const struct fields *f, struct launch *launch) {
  uint8_t flags = (uint8_t)f->n[FLAGS];
  char **joined = NULL;
  errno = ESHUTDOWN;
  if (stopping) return false;
  c->pty = launch->pty = flags & FLAG_PTY;
  c->grace = (uint32_t)f->n[GRACE];
  c->channel.credit = f->n[GRANT];
  if (*f->t[STATE] && !(c->state = strdup(f->t[STATE]))) return false;
  if (f->n[KIND]) {
    /* Both streams go to one log, and only one pipe keeps their order. */
    flags |= FLAG_MERGE;
    c->process = process_create(c, f->t[NAME], f->t[SHOWN], f->n[CAP]);
    if (!c->process) return false;
  }
  if (flags & FLAG_INHERIT && !(launch->env = joined = join_environment(launch->env))) return false;
  if (!open_descriptors(c, launch, flags)) {
    free(joined);
    return false;
  }
  command_resize(c, f->n[ROWS], f->n[COLUMNS]);
  c->control.fd = keeper_start(launch, &c->keeper);
  free(joined);
  return c->control.fd >= 0 && watch_set(&c->control, EPOLLIN);
}

void request_start(struct connection *connection, uint32_t id, const struct fields *f) {
  struct launch launch = {.argv = f->l[0], .env = f->l[1], .cwd = f->t[CWD], .fds = {-1, -1, -1, -1, -1}};
  size_t count = 0;
  while (launch.argv[count]) count++;
  connection->cut = !count || count > ARGUMENTS_MAX || f->n[KIND] > 1 || f->n[FLAGS] > FLAGS_ALL || strlen(f->t[NAME]) > NAME_LIMIT ||
                    strlen(f->t[SHOWN]) > SHOWN_LIMIT;
  struct command *c = connection->cut ? NULL : command_open(connection, id);
  if (!c) return;
  bool launched = command_launch(c, f, &launch);
  int error = errno;
  close_command_side(&launch);
  if (launched && f->n[TIMEOUT]) timer_set(&c->timeout, now_ms() + (int64_t)f->n[TIMEOUT]);
  status_used_for(connection, f->n[KIND] ? "process" : "call", f->t[SHOWN]);
  if (!launched) command_abandon(c, error, "cannot start the command");
}
