#include "holdfastd.h"

enum { STOP_GRACE_MS = 2000, LEASES_TOLD_MAX = 512 };

static int64_t opened, last_used;
static char last_used_for[NAME_LIMIT + 256];
static uint32_t idle_stop;

static bool is_busy(void) {
  for (struct connection *c = connections; c; c = c->next)
    if (c->step == READY && c->use != WATCHER) return true;
  /* Also one that has ended, while something that it started still runs. */
  return commands;
}

static void idle_long_enough(struct timer *timer) {
  if (is_busy()) {
    timer_set(timer, now_ms() + (int64_t)idle_stop * 1000);
  } else {
    serve_stop(STOP_GRACE_MS);
  }
}

static struct timer idle_timer = {.fire = idle_long_enough};

void status_used(void) {
  last_used = now_ms();
  if (idle_stop) timer_set(&idle_timer, last_used + (int64_t)idle_stop * 1000);
}

void status_used_for(const struct connection *connection, const char *kind, const char *shown) {
  snprintf(last_used_for, sizeof last_used_for, "%s %.200s (%s)", kind, shown, connection->label);
}

static void idle_stop_set(uint32_t seconds) {
  idle_stop = seconds;
  timer_clear(&idle_timer);
  if (seconds) timer_set(&idle_timer, last_used + (int64_t)seconds * 1000);
}

void status_open(uint32_t idle_stop_seconds) {
  opened = last_used = now_ms();
  idle_stop_set(idle_stop_seconds);
}

void request_status(struct connection *connection, uint32_t id, const struct fields *fields) {
  uint32_t leases = 0, calls = 0, processes = 0, ptys = 0;
  struct buffer told = {0};
  int64_t now = now_ms();
  (void)fields;
  for (struct connection *c = connections; c; c = c->next) {
    if (c->step != READY) continue;
    if (leases++ < LEASES_TOLD_MAX) put(&told, "t8", c->label, now - c->since);
  }
  for (struct command *c = commands; c; c = c->next) {
    calls += !c->finished && !c->process;
    processes += !c->finished && c->process;
    ptys += !c->finished && c->pty;
  }
  send_frame(connection, STATUS, id, "8844444t4b", now - opened, is_busy() ? (int64_t)0 : now - last_used, idle_stop, leases, calls, processes,
             ptys, last_used_for, leases < LEASES_TOLD_MAX ? leases : LEASES_TOLD_MAX, told.data, told.end);
  send_frame(connection, DONE, id, "");
  connection->out.failed |= told.failed;
  buffer_clear(&told);
}

void request_idle_stop(struct connection *connection, uint32_t id, const struct fields *fields) {
  idle_stop_set((uint32_t)fields->n[0]);
  send_frame(connection, DONE, id, "");
}

void request_stop(struct connection *connection, uint32_t id, const struct fields *fields) {
  send_frame(connection, DONE, id, "");
  serve_stop(fields->n[0]);
}
