#include "holdfastd.h"

enum { ID_SIZE = 11, ATTACH_WINDOW = 16384 };

static const char NO_PROCESS[] = "there is no such process";

struct process {
  struct process *next; /* newest last */
  struct command *command; /* NULL once its tree is gone */
  struct follower *followers;
  char id[ID_SIZE], name[257];
  pid_t pid;
  bool ended, pty;
  int64_t started_at, ended_at; /* ms since the epoch */
  struct log log;
  struct result result;
  char *shown;
};

/* A channel that waits for something of a process. */
struct follower {
  struct channel channel;
  struct follower *next;
  struct process *process;
  uint64_t offset;
  enum { READS, FOLLOWS, WAITS, KILLS, WRITES } aim;
};

static struct process *processes;
static int directory = -1;

/* --- the table --- */

bool processes_open(const char *state) {
  if (mkdir(state, 0700) < 0 && errno != EEXIST) return false;
  int parent = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0 || (mkdirat(parent, "processes", 0700) < 0 && errno != EEXIST)) return false;
  directory = openat(parent, "processes", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  close(parent);
  /* Logs of an earlier daemon: its processes died with it, and nobody knows their ids any more. */
  DIR *dir = directory < 0 ? NULL : fdopendir(dup(directory));
  for (struct dirent *entry; dir && (entry = readdir(dir));)
    if (!strncmp(entry->d_name, "p_", 2)) unlinkat(directory, entry->d_name, 0);
  if (dir) closedir(dir);
  return directory >= 0;
}

static int64_t epoch_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct process *process_find(const char *id) {
  struct process *p = processes;
  while (p && strcmp(p->id, id)) p = p->next;
  return p;
}

struct process *process_create(struct command *command, const char *name, const char *shown, uint64_t cap) {
  size_t count = 0;
  struct process *oldest = NULL, **last = &processes;
  uint32_t random;
  for (; *last; last = &(*last)->next, count++)
    if (!oldest && (*last)->ended) oldest = *last;
  if (count >= PROCESSES_MAX && !oldest) errno = EAGAIN;
  struct process *p = count >= PROCESSES_MAX && !oldest ? NULL : calloc(1, sizeof *p);
  if (!p) return NULL;
  do {
    if (!random_bytes(&random, sizeof random)) {
      free(p);
      return NULL;
    }
    snprintf(p->id, sizeof p->id, "p_%08x", random);
  } while (process_find(p->id));
  snprintf(p->name, sizeof p->name, "%s", name);
  p->command = command;
  p->pty = command->pty;
  p->started_at = epoch_ms();
  *last = p;
  if (!log_open(&p->log, directory, p->id, cap) || !(p->shown = strdup(shown))) {
    int error = errno;
    process_forget(p);
    errno = error;
    return NULL;
  }
  if (count >= PROCESSES_MAX) process_forget(oldest);
  return p;
}

void process_forget(struct process *p) {
  struct process **link = &processes;
  while (p->followers) channel_end(&p->followers->channel, ENOENT, "the process was forgotten");
  while (*link != p) link = &(*link)->next;
  *link = p->next;
  if (p->command) p->command->process = NULL;
  log_remove(&p->log);
  free(p->shown);
  buffer_clear(&p->result.report);
  free(p);
}

const char *process_id(const struct process *p) { return p->id; }

static void wake_followers(struct process *p) {
  for (struct follower *f = p->followers; f; f = f->next) connection_wake(f->channel.connection);
}

void process_output(struct process *p, const void *bytes, size_t length) {
  log_write(&p->log, bytes, length);
  wake_followers(p);
}

void process_ended(struct process *p, struct result *result) {
  p->ended = true;
  p->ended_at = epoch_ms();
  p->result = *result;
  result->report = (struct buffer){0};
  wake_followers(p);
}

void process_gone(struct process *p) {
  p->pid = p->command->pid;
  p->command = NULL;
  wake_followers(p);
}

/* --- followers --- */

static bool follower_pump(struct channel *channel) {
  struct follower *f = (struct follower *)channel;
  struct process *p = f->process;
  if (f->aim == WRITES) return false;
  if (f->aim == KILLS) {
    if (!p->command) channel_end(channel, 0, "");
    return false;
  }
  if (f->aim != WAITS && f->offset < p->log.written) {
    size_t room = channel_room(channel);
    if (!room) return false;
    /* Too slow for a log with a cap: the client is told where it goes on. */
    if (f->offset < log_oldest(&p->log)) {
      f->offset = log_oldest(&p->log);
      send_frame(channel->connection, OPENED, channel->id, "48", 0, f->offset);
    }
    ssize_t n = log_read(&p->log, &f->offset, scratch, room);
    if (n > 0) channel_output(channel, 1, scratch, (size_t)n);
    if (n < 0) channel_end(channel, errno, "cannot read the log");
    if (n == 0) f->offset = p->log.written; /* somebody has cut the file: there is nothing more to come */
    return n >= 0;
  }
  if (f->aim == READS) {
    channel_end(channel, 0, "");
  } else if (p->ended) {
    send_ended(channel->connection, channel->id, &p->result);
    channel_close(channel);
    channel->type->drop(channel);
  }
  return false;
}

static void follower_drop(struct channel *channel) {
  struct follower *f = (struct follower *)channel, **link = &f->process->followers;
  while (*link != f) link = &(*link)->next;
  *link = f->next;
  if (f->process->command) input_forget(f->process->command, channel);
  free(f);
}

static void attach_input(struct channel *channel, const uint8_t *bytes, size_t length, bool end) {
  struct process *p = ((struct follower *)channel)->process;
  if (p->command) input_add(p->command, channel, input_regrant, bytes, length, end);
}

static void attach_control(struct channel *channel, uint8_t type, const struct fields *fields) {
  struct process *p = ((struct follower *)channel)->process;
  if (p->command && type == SIGNAL) command_signal(p->command, fields->n[0]);
  if (p->command && type == RESIZE) command_resize(p->command, fields->n[0], fields->n[1]);
}

static const struct channel_type follower_type = {.pump = follower_pump, .drop = follower_drop, .detachable = true};
static const struct channel_type attach_type = {
    .pump = follower_pump, .drop = follower_drop, .input = attach_input, .control = attach_control, .detachable = true};

/* Opens a channel for the process; NULL if it cannot, and the client was told. */
static struct follower *follow(struct connection *c, uint32_t id, const char *process, int aim, const struct channel_type *type) {
  struct process *p = process_find(process);
  if (!p) send_failed(c, id, ESRCH, NO_PROCESS);
  struct follower *f = p ? channel_open(c, id, sizeof *f, type) : NULL;
  if (!f) return NULL;
  f->process = p;
  f->aim = aim;
  f->next = p->followers;
  p->followers = f;
  return f;
}

/* --- requests --- */

void request_processes(struct connection *c, uint32_t id, const struct fields *fields) {
  (void)fields;
  for (struct process *p = processes; p; p = p->next)
    send_frame(c, PROCESS, id, "tt4111111888t", p->id, p->name, p->command ? p->command->pid : p->pid, p->ended, p->result.code,
               p->result.signal, p->result.cause, p->pty, p->command && p->command->input.fd >= 0, p->started_at, p->ended_at,
               p->log.written, p->shown);
  send_frame(c, DONE, id, "");
}

void request_read_log(struct connection *c, uint32_t id, const struct fields *fields) {
  struct follower *f = follow(c, id, fields->t[0], fields->n[1] ? FOLLOWS : READS, &follower_type);
  if (!f) return;
  const struct log *log = &f->process->log;
  f->offset = fields->n[0] < log_oldest(log) ? log_oldest(log) : fields->n[0] > log->written ? log->written : fields->n[0];
  f->channel.credit = fields->n[2];
  channel_opened(&f->channel, 0, f->offset, 0, "");
}

void request_attach(struct connection *c, uint32_t id, const struct fields *fields) {
  struct follower *f = follow(c, id, fields->t[0], FOLLOWS, &attach_type);
  if (!f) return;
  struct command *command = f->process->command;
  f->offset = f->process->log.written;
  f->channel.credit = fields->n[2];
  if (command && fields->n[0] && fields->n[1]) command_resize(command, fields->n[0], fields->n[1]);
  channel_opened(&f->channel, command && command->input.fd >= 0 ? ATTACH_WINDOW : 0, f->offset, 0, "");
}

void request_wait(struct connection *c, uint32_t id, const struct fields *fields) { follow(c, id, fields->t[0], WAITS, &follower_type); }

void request_kill_process(struct connection *c, uint32_t id, const struct fields *fields) {
  struct follower *f = follow(c, id, fields->t[0], KILLS, &follower_type);
  if (f && f->process->command) command_kill(f->process->command, ON_REQUEST, fields->n[0]);
}

void request_signal_process(struct connection *c, uint32_t id, const struct fields *fields) {
  struct process *p = process_find(fields->t[0]);
  bool running = p && !p->ended;
  if (running) command_signal(p->command, fields->n[0]);
  send_end(c, id, running ? 0 : ESRCH, p ? "the process has ended" : NO_PROCESS);
}

static void writer_taken(struct channel *channel, size_t length, int error) {
  (void)length;
  channel_end(channel, error, "cannot write to the process");
}

void request_write_process(struct connection *c, uint32_t id, const struct fields *fields) {
  struct follower *f = follow(c, id, fields->t[0], WRITES, &follower_type);
  struct command *command = f ? f->process->command : NULL;
  if (f && command && command->input_waiting + fields->length > INPUT_WAITING_MAX) {
    channel_end(&f->channel, EAGAIN, "the process does not read its input");
  } else if (f && command) {
    input_add(command, &f->channel, writer_taken, fields->bytes, fields->length, fields->n[0]);
  } else if (f) {
    channel_end(&f->channel, EPIPE, "the process has ended");
  }
}

void request_forget_process(struct connection *c, uint32_t id, const struct fields *fields) {
  struct process *p = process_find(fields->t[0]);
  int error = !p ? ESRCH : p->ended ? 0 : EBUSY;
  if (!error) process_forget(p);
  send_end(c, id, error, p ? "the process is running" : NO_PROCESS);
}
