#include "holdfastd.h"

static int epoll_fd = -1;
static struct timer *timers;
/* Never later than the earliest timer; too early costs one scan. */
static int64_t next_fire = INT64_MAX;

int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  int64_t now = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
#ifdef HOLDFASTD_TEST
  /* Tests move the clock forward by the milliseconds in this file. */
  const char *path = getenv("HOLDFASTD_CLOCK");
  FILE *file = path ? fopen(path, "re") : NULL;
  long long ahead = 0;
  if (file && fscanf(file, "%lld", &ahead) == 1) now += ahead;
  if (file) fclose(file);
#endif
  return now;
}

bool loop_open(void) {
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  return epoll_fd >= 0;
}

static void fire_timers(void) {
  int64_t now = now_ms();
  struct timer *timer = timers;
  next_fire = INT64_MAX;
  while (timer) {
    if (timer->at <= now) {
      void (*fire)(struct timer *) = timer->fire;
      timer_clear(timer);
      fire(timer);
      timer = timers; /* the handler may have removed any other */
      continue;
    }
    if (timer->at < next_fire) next_fire = timer->at;
    timer = timer->next;
  }
}

void loop_turn(bool work) {
  struct epoll_event event;
  int64_t wait = next_fire == INT64_MAX ? -1 : next_fire - now_ms();
  if (work || (next_fire != INT64_MAX && wait < 0)) wait = 0;
  /* One event at a time: a handler may free what another event of the same batch points to. */
  if (epoll_wait(epoll_fd, &event, 1, wait > INT_MAX ? INT_MAX : (int)wait) == 1) {
    struct watch *watch = event.data.ptr;
    watch->ready(watch);
  }
  if (next_fire != INT64_MAX && next_fire <= now_ms()) fire_timers();
}

/* A paused watch leaves the set: a hang-up would be reported for ever otherwise. */
bool watch_set(struct watch *watch, uint32_t events) {
  if (watch->fd < 0 || events == watch->events) return true;
  struct epoll_event event = {.events = events, .data.ptr = watch};
  int op = !watch->events ? EPOLL_CTL_ADD : events ? EPOLL_CTL_MOD : EPOLL_CTL_DEL;
  if (epoll_ctl(epoll_fd, op, watch->fd, &event) < 0) return false;
  watch->events = events;
  return true;
}

/* Leaving the set must not be left to close(): a keeper just forked may still hold the descriptor. */
void watch_close(struct watch *watch) {
  if (watch->fd < 0) return;
  watch_set(watch, 0);
  close(watch->fd);
  watch->fd = -1;
}

void timer_set(struct timer *timer, int64_t at) {
  timer_clear(timer);
  timer->at = at;
  timer->next = timers;
  timer->link = &timers;
  if (timers) timers->link = &timer->next;
  timers = timer;
  if (at < next_fire) next_fire = at;
}

void timer_clear(struct timer *timer) {
  if (!timer->link) return;
  *timer->link = timer->next;
  if (timer->next) timer->next->link = timer->link;
  timer->link = NULL;
}
