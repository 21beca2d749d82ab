#include "holdfastd.h"

enum { WAKE_MS = 250, REPORT_MAX = 16384, STATE_MAX = 16 << 20, PTY_LEFT_MAX = 1 << 20 };

struct command *commands;
uint8_t scratch_frame[OUTPUT_HEAD + OUTPUT_MAX];

/* --- the state and the result --- */

static void state_write(struct command *c, const uint8_t *bytes, size_t length) {
  if (!c->state || c->result.reason[0]) return;
  int error = c->saving.fd < 0 ? replacement_open(&c->saving, c->state, 0600) : 0;
  c->state_length += length;
  c->state_whole = !bytes[length - 1];
  if (!error && c->state_length > STATE_MAX) error = EFBIG;
  if (!error) error = write_all(c->saving.fd, bytes, length);
  if (!error) return;
  snprintf(c->result.reason, sizeof c->result.reason, "cannot write the state: %s", strerror(error));
  replacement_discard(&c->saving);
}

static void state_save(struct command *c) {
  struct result *r = &c->result;
  if (c->saving.fd >= 0 && !c->state_whole) {
    snprintf(r->reason, sizeof r->reason, "it was not complete when the command ended");
    replacement_discard(&c->saving);
  } else if (c->saving.fd >= 0) {
    int error = ftruncate(c->saving.fd, (off_t)c->state_length - 1) < 0 ? errno : 0;
    if (error) {
      replacement_discard(&c->saving);
    } else {
      error = replacement_commit(&c->saving, false);
    }
    r->saved = !error;
    if (error) snprintf(r->reason, sizeof r->reason, "cannot replace the state: %s", strerror(error));
  }
  if (r->reason[0]) r->saved = 2;
}

void send_ended(struct connection *connection, uint32_t id, const struct result *r) {
  const uint8_t *report = r->report.data ? r->report.data + r->report.start : NULL;
  send_frame(connection, ENDED, id, "1111st", r->code, r->signal, r->cause, r->saved, report, buffer_length(&r->report), r->reason);
}

static void command_free(struct command *c) {
  if (c->process) process_gone(c->process);
  for (int i = 0; i < STREAMS; i++) watch_close(&c->streams[i].watch);
  watch_close(&c->input);
  watch_close(&c->control);
  timer_clear(&c->timeout);
  buffer_clear(&c->result.report);
  *c->link = c->next;
  if (c->next) c->next->link = c->link;
  free(c->state);
  free(c);
  status_used();
}

/* --- output --- */

static size_t stream_room(const struct stream *s) {
  const struct command *c = s->command;
  if (c->process || c->finished || s->number > 2 || !c->channel.connection) return OUTPUT_MAX;
  return channel_room(&c->channel);
}

static void stream_deliver(struct stream *s, size_t length) {
  struct command *c = s->command;
  size_t reported = buffer_length(&c->result.report);
  if (c->finished) return;
  if (s->number == 3) state_write(c, scratch, length);
  if (s->number == 4) buffer_add(&c->result.report, scratch, length < REPORT_MAX - reported ? length : REPORT_MAX - reported);
  if (s->number > 2) return;
  if (c->process) process_output(c->process, scratch, length);
  if (!c->process && c->channel.connection) channel_output(&c->channel, s->number, scratch, length);
}

/* Reads once, as much as may be read. True if there may be more. */
static bool stream_step(struct stream *s) {
  size_t want = stream_room(s);
  bool last = s->command->draining && !s->command->finished;
  if (last && s->left < want) want = s->left;
  if (s->watch.fd < 0 || !want) {
    watch_set(&s->watch, 0);
    return false;
  }
  ssize_t n = read(s->watch.fd, scratch, want);
  if (n > 0) {
    if (last) s->left -= (size_t)n;
    stream_deliver(s, (size_t)n);
    return true;
  }
  s->left = 0;
  if (n == 0 || errno != EAGAIN) watch_close(&s->watch);
  return false;
}

/* Tells the result as soon as the command has ended (if it was killed: its tree) and its output is sent. */
static void command_settle(struct command *c) {
  bool left = false;
  if (c->finished || !c->ended || (c->result.cause && !c->gone)) return;
  for (int i = 0; i < STREAMS && !c->draining; i++) {
    int waiting = 0;
    /* A pty does not count what is still on its way to our end: there, reading until it is empty must do. */
    if (c->pty || ioctl(c->streams[i].watch.fd, FIONREAD, &waiting) < 0) waiting = PTY_LEFT_MAX;
    c->streams[i].left = c->streams[i].watch.fd < 0 ? 0 : (size_t)waiting;
  }
  c->draining = true;
  for (int i = 0; i < STREAMS; i++) {
    while (c->streams[i].left && stream_step(&c->streams[i])) continue;
    if (c->streams[i].left) left = true;
  }
  if (left) return;
  state_save(c);
  c->finished = true;
  timer_clear(&c->timeout);
  input_close(c, EPIPE);
  status_used();
  if (c->process) process_ended(c->process, &c->result);
  if (c->channel.connection) {
    send_ended(c->channel.connection, c->channel.id, &c->result);
    channel_close(&c->channel);
  }
  /* What others write into the pipes from now on is read and dropped: a broken pipe would kill them. */
  for (int i = 0; i < STREAMS; i++) watch_set(&c->streams[i].watch, EPOLLIN);
  if (c->gone) command_free(c);
}

void command_stream_ready(struct watch *watch) {
  struct stream *s = OWNER(watch, struct stream, watch);
  stream_step(s);
  command_settle(s->command);
}

/* --- the keeper --- */

static void command_refused(struct command *c, int error, const char *what) {
  c->finished = true;
  timer_clear(&c->timeout);
  if (c->channel.connection) send_failed(c->channel.connection, c->channel.id, error, what);
  channel_close(&c->channel);
  if (c->process) process_forget(c->process);
}

void command_abandon(struct command *c, int error, const char *what) {
  command_refused(c, error, what);
  command_free(c);
}

static void command_started(struct command *c, pid_t pid) {
  struct connection *connection = c->channel.connection;
  c->started = true;
  c->pid = pid;
  /* Only now: no output before STARTED. */
  for (int i = 0; i < STREAMS; i++)
    if (!watch_set(&c->streams[i].watch, EPOLLIN)) command_kill(c, ON_REQUEST, 0);
  if (!connection) return;
  c->channel.granted = c->input.fd >= 0 && !c->process ? INPUT_WINDOW : 0;
  send_frame(connection, STARTED, c->channel.id, "44t", pid, c->channel.granted, c->process ? process_id(c->process) : "");
  if (!c->process) return;
  send_frame(connection, DONE, c->channel.id, "");
  channel_close(&c->channel);
}

void command_control_ready(struct watch *watch) {
  struct command *c = OWNER(watch, struct command, control);
  struct note note;
  ssize_t n = recv(watch->fd, &note, sizeof note, 0);
  if (n == sizeof note && note.what == NOTE_STARTED) command_started(c, note.value);
  if (n == sizeof note && note.what == NOTE_FAILED) command_refused(c, note.value, note.text);
  if (n == sizeof note && note.what == NOTE_ENDED) {
    c->ended = true;
    c->result.code = WIFEXITED(note.value) ? (uint8_t)WEXITSTATUS(note.value) : 0;
    c->result.signal = WIFSIGNALED(note.value) ? (uint8_t)WTERMSIG(note.value) : 0;
  }
  if (n == sizeof note || (n < 0 && errno == EAGAIN)) {
    command_settle(c);
    return;
  }
  watch_close(&c->control);
  c->gone = true;
  if (!c->ended && !c->finished && !c->started) command_refused(c, 0, "the keeper of the command was killed");
  if (!c->ended) c->result.signal = SIGKILL;
  c->ended = true;
  if (c->finished) {
    command_free(c);
  } else {
    command_settle(c);
  }
}

static void command_order(struct command *c, struct order order) {
  if (c->gone || send(c->control.fd, &order, sizeof order, MSG_NOSIGNAL) > 0) return;
  /* The keeper has too many orders waiting to take one more. This one it takes for the daemon's end. */
  if (order.what == ORDER_KILL) shutdown(c->control.fd, SHUT_WR);
}

/* A command may have stopped its keeper, and may do so again: until it is gone, it is woken. */
static void keeper_wake(struct timer *timer) {
  struct command *c = OWNER(timer, struct command, timeout);
  if (c->gone) return;
  kill(c->keeper, SIGCONT);
  timer_set(timer, now_ms() + WAKE_MS);
}

void command_kill(struct command *c, enum cause cause, uint64_t grace) {
  if (!c->ended && !c->result.cause) c->result.cause = (uint8_t)cause;
  command_order(c, (struct order){.what = ORDER_KILL, .value = (uint32_t)grace});
  c->timeout.fire = keeper_wake;
  keeper_wake(&c->timeout);
}

void command_signal(struct command *c, uint64_t signal) { command_order(c, (struct order){.what = ORDER_SIGNAL, .value = (uint32_t)signal}); }

void command_late(struct timer *timer) {
  struct command *c = OWNER(timer, struct command, timeout);
  command_kill(c, TIMED_OUT, c->grace);
}

void command_resize(struct command *c, uint64_t rows, uint64_t columns) {
  struct winsize size = {.ws_row = (uint16_t)rows, .ws_col = (uint16_t)columns};
  if (c->pty) ioctl(c->streams[0].watch.fd, TIOCSWINSZ, &size);
}

/* --- the channel of a call --- */

static bool call_pump(struct channel *channel) {
  struct command *c = (struct command *)channel;
  if (!c->started || !channel_room(channel)) return false;
  for (int i = 0; i < 2 && !c->draining; i++) watch_set(&c->streams[i].watch, EPOLLIN);
  if (c->draining) command_settle(c);
  return false;
}

static void call_left(struct channel *channel) {
  struct command *c = (struct command *)channel;
  input_forget(c, channel);
  if (c->process || c->finished) return;
  command_kill(c, CLIENT_LEFT, c->grace);
  for (int i = 0; i < 2; i++) watch_set(&c->streams[i].watch, EPOLLIN);
  command_settle(c);
}

static void call_input(struct channel *channel, const uint8_t *bytes, size_t length, bool end) {
  input_add((struct command *)channel, channel, input_regrant, bytes, length, end);
}

static void call_control(struct channel *channel, uint8_t type, const struct fields *f) {
  struct command *c = (struct command *)channel;
  if (type == KILL) command_kill(c, ON_REQUEST, f->n[0]);
  if (type == SIGNAL) command_signal(c, f->n[0]);
  if (type == RESIZE) command_resize(c, f->n[0], f->n[1]);
}

const struct channel_type call_type = {.pump = call_pump, .drop = call_left, .input = call_input, .control = call_control};
