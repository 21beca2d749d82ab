#include "holdfastd.h"

#include <sys/random.h>

enum { HANDSHAKE_MS = 5000, READ_SIZE = 65536, REQUEST_STATUS = 0x40, REQUEST_LAST = 0x42 };

uint8_t secret[32];
struct connection *connections;
static struct connection *to_run;
static size_t connection_count;

static const struct {
  request *open;
  const char *format;
} requests[REQUEST_LAST + 1] = {
    [0x10] = {request_start, "11444228oottll"}, [0x20] = {request_processes, ""},         [0x21] = {request_read_log, "t814"},
    [0x22] = {request_attach, "t224"},         [0x23] = {request_wait, "t"},             [0x24] = {request_kill_process, "t4"},
    [0x25] = {request_signal_process, "t1"},   [0x26] = {request_write_process, "t1b"},  [0x27] = {request_forget_process, "t"},
    [0x30] = {request_stat, "p1"},             [0x31] = {request_list, "p"},             [0x32] = {request_read_file, "p884"},
    [0x33] = {request_write_file, "p21"},      [0x34] = {request_remove, "p1"},          [0x35] = {request_mkdir, "p21"},
    [0x36] = {request_tar_out, "p4"},          [0x37] = {request_tar_in, "p"},           [0x38] = {request_rename, "pp"},
    [0x40] = {request_status, ""},             [0x41] = {request_idle_stop, "4"},        [0x42] = {request_stop, "4"},
};
static const char *const formats[] = {[INPUT] = "b", [INPUT_END] = "", [CREDIT] = "4", [KILL] = "4", [SIGNAL] = "1", [RESIZE] = "22", [DETACH] = ""};

bool random_bytes(void *bytes, size_t length) { return getrandom(bytes, length, 0) == (ssize_t)length; }

void send_frame(struct connection *c, uint8_t type, uint32_t id, const char *format, ...) {
  va_list values;
  va_start(values, format);
  put_frame(&c->out, type, id, format, values);
  va_end(values);
  connection_wake(c);
}

/* Straight to the socket while nothing waits before it: long output is neither copied nor kept. */
void send_scratch(struct connection *c, uint32_t id, uint8_t stream, size_t length) {
  struct buffer head = {0};
  size_t all = OUTPUT_HEAD + length, sent = 0;
  put(&head, "4141", (uint32_t)(all - 4), OUTPUT, id, stream);
  if (head.failed) {
    c->out.failed = true;
    return;
  }
  memcpy(scratch_frame, head.data, OUTPUT_HEAD);
  buffer_clear(&head);
  if (!buffer_length(&c->out)) {
    ssize_t n = write(c->watch.fd, scratch_frame, all);
    if (n > 0) sent = (size_t)n;
  }
  buffer_add(&c->out, scratch_frame + sent, all - sent);
  connection_wake(c);
}

void send_failed(struct connection *c, uint32_t id, int error, const char *what) {
  char message[512];
  snprintf(message, sizeof message, error ? "%s: %s" : "%s", what, strerror(error));
  send_frame(c, FAILED, id, "4t", error, message);
}

void send_end(struct connection *c, uint32_t id, int error, const char *what) {
  if (error) {
    send_failed(c, id, error, what);
  } else {
    send_frame(c, DONE, id, "");
  }
}

/* --- opening and closing --- */

static void connection_ready(struct watch *watch) {
  struct connection *c = OWNER(watch, struct connection, watch);
  struct frame frame;
  size_t want = c->step == READY ? READ_SIZE : 2 * FRAME_MAX_STRANGER;
  connection_wake(c);
  if (!(watch->events & EPOLLIN)) return;
  if (frame_first(&c->in, FRAME_MAX, &frame) == FRAME_PART && frame.length > want) want = frame.length - buffer_length(&c->in);
  uint8_t *room = buffer_room(&c->in, want);
  ssize_t n = room ? read(watch->fd, room, want) : 0;
  if (n > 0) c->in.end += (size_t)n;
  if (n == 0 || (n < 0 && errno != EAGAIN)) c->cut = true;
}

static void connection_late(struct timer *timer) {
  struct connection *c = OWNER(timer, struct connection, deadline);
  c->cut = true;
  connection_wake(c);
}

void connection_open(int fd) {
  struct connection *c = connection_count < CONNECTIONS_MAX ? calloc(1, sizeof *c) : NULL;
  if (c) c->watch = (struct watch){.fd = fd, .ready = connection_ready};
  if (!c || !watch_set(&c->watch, EPOLLIN)) {
    close(fd);
    free(c);
    return;
  }
  c->next = connections;
  c->link = &connections;
  if (connections) connections->link = &c->next;
  connections = c;
  connection_count++;
  c->since = now_ms();
  c->deadline.fire = connection_late;
  timer_set(&c->deadline, c->since + HANDSHAKE_MS);
}

static void connection_close(struct connection *c) {
  *c->link = c->next;
  if (c->next) c->next->link = c->link;
  connection_count--;
  while (c->channels) {
    struct channel *channel = c->channels;
    channel_close(channel);
    channel->type->drop(channel);
  }
  if (c->step == READY && c->use != WATCHER) status_used();
  timer_clear(&c->deadline);
  watch_close(&c->watch);
  buffer_clear(&c->in);
  buffer_clear(&c->out);
  free(c);
}

/* --- frames of the client --- */

static void mac_of(const char *who, const uint8_t *first, const uint8_t *second, uint8_t mac[32]) {
  uint8_t message[6 + 32 + 32];
  memcpy(message, who, 6);
  memcpy(message + 6, first, 32);
  memcpy(message + 38, second, 32);
  hmac_sha256(secret, message, sizeof message, mac);
}

static bool greet(struct connection *c, struct payload payload) {
  uint8_t nonce[32], mac[32];
  struct fields f;
  if (!take(payload, "4m", &f) || f.n[0] != 0x01444648 || !random_bytes(nonce, sizeof nonce)) return false;
  mac_of("client", nonce, f.bytes, c->proof);
  mac_of("daemon", f.bytes, nonce, mac);
  send_frame(c, 0x81, 0, "1bb", PROTOCOL, nonce, sizeof nonce, mac, sizeof mac);
  c->step = GREETED;
  return true;
}

static bool check_proof(struct connection *c, struct payload payload) {
  uint8_t difference = 0;
  struct fields f;
  if (!take(payload, "mt", &f) || strlen(f.t[0]) > NAME_LIMIT) return false;
  /* In constant time, so that the delay tells nothing about the right proof. */
  for (int i = 0; i < 32; i++) difference |= f.bytes[i] ^ c->proof[i];
  if (difference) return false;
  strcpy(c->label, f.t[0]);
  timer_clear(&c->deadline);
  c->step = READY;
  send_frame(c, 0x82, 0, "4t", getpid(), BUILD);
  return true;
}

static bool take_channel_frame(struct connection *c, struct frame *frame) {
  struct channel *channel = channel_find(c, frame->channel);
  struct fields f = {0};
  if (!take(frame->payload, formats[frame->type], &f)) return false;
  if (!channel) return true;
  if (frame->type == CREDIT) {
    channel->credit += f.n[0];
  } else if (frame->type == INPUT || frame->type == INPUT_END) {
    if (f.length > channel->granted || !channel->type->input) return false;
    if (!f.length && frame->type == INPUT) return true;
    channel->granted -= (uint32_t)f.length;
    channel->type->input(channel, f.bytes, f.length, frame->type == INPUT_END);
  } else if (frame->type == DETACH) {
    if (channel->type->detachable) channel_end(channel, 0, "");
  } else if (channel->type->control) {
    channel->type->control(channel, frame->type, &f);
  }
  return true;
}

static bool take_request(struct connection *c, struct frame *frame) {
  struct fields f = {0};
  if (frame->type > REQUEST_LAST || !requests[frame->type].open || channel_find(c, frame->channel)) return false;
  bool good = take(frame->payload, requests[frame->type].format, &f);
  /* Whoever only asks how things are does not keep the sandbox awake. */
  c->use = frame->type == REQUEST_STATUS && c->use != USER ? WATCHER : USER;
  if (c->use == USER) status_used();
  if (good) requests[frame->type].open(c, frame->channel, &f);
  free(f.l[0]);
  free(f.l[1]);
  return good && !c->cut;
}

static bool take_frame(struct connection *c, struct frame *frame) {
  if (c->step == NEW) return frame->type == 0x01 && !frame->channel && greet(c, frame->payload);
  if (c->step == GREETED) return frame->type == 0x02 && !frame->channel && check_proof(c, frame->payload);
  if (!frame->channel) return false;
  return frame->type >= INPUT && frame->type <= DETACH ? take_channel_frame(c, frame) : take_request(c, frame);
}

/* --- turns --- */

void connection_wake(struct connection *c) {
  if (c->to_run) return;
  c->to_run = true;
  c->next_to_run = to_run;
  to_run = c;
}

static void connection_write(struct connection *c) {
  while (buffer_length(&c->out)) {
    ssize_t n = write(c->watch.fd, c->out.data + c->out.start, buffer_length(&c->out));
    if (n < 0 && errno != EAGAIN) c->cut = true;
    if (n < 0) return;
    buffer_drop(&c->out, (size_t)n);
  }
}

/* One step for each channel, the next turn beginning where this one had no room left: all get their share. */
static bool connection_pump(struct connection *c) {
  bool more = false;
  for (size_t steps = c->channel_count; steps && c->channels && buffer_length(&c->out) < WAITING_MAX; steps--) {
    struct channel *channel = c->channels;
    c->channels = channel->next;
    if (channel->type->pump && channel->type->pump(channel)) more = true;
  }
  return more;
}

/* The only place where a connection is closed: no handler has to fear that its connection is gone. */
static void connection_turn(struct connection *c) {
  struct frame frame;
  enum frame_state state = FRAME_PART;
  while (!c->cut && buffer_length(&c->out) < WAITING_MAX) {
    state = frame_first(&c->in, c->step == READY ? FRAME_MAX : FRAME_MAX_STRANGER, &frame);
    if (state == FRAME_PART) break;
    c->cut = state == FRAME_BAD || !take_frame(c, &frame);
    if (!c->cut) buffer_drop(&c->in, frame.length);
  }
  bool more = !c->cut && connection_pump(c);
  /* Whoever found no room waits for the turn that follows when there is some. */
  if (state == FRAME_WHOLE || buffer_length(&c->out) >= WAITING_MAX) more = true;
  connection_write(c);
  bool full = buffer_length(&c->out) >= WAITING_MAX;
  watch_set(&c->watch, (full ? 0u : EPOLLIN) | (buffer_length(&c->out) ? EPOLLOUT : 0u));
  c->to_run = false;
  if (c->cut || c->in.failed || c->out.failed) {
    connection_close(c);
  } else if (more && !full) {
    connection_wake(c);
  }
}

bool connections_run(void) {
  struct connection *c = to_run, *next;
  for (to_run = NULL; c; c = next) {
    next = c->next_to_run;
    connection_turn(c);
  }
  return to_run;
}
