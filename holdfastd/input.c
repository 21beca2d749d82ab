#include "holdfastd.h"

/* What a terminal sends for "end of file". */
static const uint8_t CONTROL_D = 4;

struct chunk {
  struct chunk *next;
  struct channel *owner;
  input_taken *taken;
  size_t length; /* what the client was granted for it */
  size_t total, done;
  bool end;
  uint8_t bytes[];
};

static void chunk_finish(struct command *c, int error) {
  struct chunk *chunk = c->chunks;
  c->chunks = chunk->next;
  c->input_waiting -= chunk->total;
  if (chunk->owner) chunk->taken(chunk->owner, chunk->length, error);
  free(chunk);
}

void input_close(struct command *c, int error) {
  watch_close(&c->input);
  while (c->chunks) chunk_finish(c, error);
}

void input_ready(struct watch *watch) {
  struct command *c = OWNER(watch, struct command, input);
  while (c->chunks) {
    struct chunk *chunk = c->chunks;
    ssize_t n = chunk->total > chunk->done ? write(watch->fd, chunk->bytes + chunk->done, chunk->total - chunk->done) : 0;
    if (n < 0 && errno == EAGAIN) {
      watch_set(watch, EPOLLOUT);
      return;
    }
    if (n > 0) chunk->done += (size_t)n;
    if (n >= 0 && chunk->done < chunk->total) continue;
    bool end = n < 0 || chunk->end;
    chunk_finish(c, n < 0 ? errno : 0);
    if (end) {
      input_close(c, EPIPE);
      return;
    }
  }
  watch_set(watch, 0);
}

void input_add(struct command *c, struct channel *owner, input_taken *taken, const uint8_t *bytes, size_t length, bool end) {
  struct chunk **last = &c->chunks, *chunk;
  while (*last && (*last)->next) last = &(*last)->next;
  /* The end of a pty's input is a byte too, for which the client needs no credit: hence a limit of its own. */
  bool control = end && c->pty, full = control && c->input_waiting > INPUT_WAITING_MAX + INPUT_WINDOW;
  if (c->input.fd < 0 || full || (*last && (*last)->end)) {
    taken(owner, length, full ? EAGAIN : EPIPE);
    return;
  }
  /* Many small pieces become one chunk: they must not cost more memory than was granted. */
  bool joins = *last && (*last)->owner == owner && taken == input_regrant;
  size_t total = joins ? (*last)->total : 0;
  chunk = realloc(joins ? *last : NULL, sizeof *chunk + total + length + 1);
  if (!chunk) {
    taken(owner, length, ENOMEM);
    return;
  }
  if (!joins) *chunk = (struct chunk){.owner = owner, .taken = taken};
  *(joins || !*last ? last : &(*last)->next) = chunk;
  if (length) memcpy(chunk->bytes + total, bytes, length);
  if (control) chunk->bytes[total + length] = CONTROL_D;
  chunk->length += length;
  chunk->total += length + control;
  chunk->end = end && !c->pty;
  c->input_waiting += length + control;
  input_ready(&c->input);
}

void input_forget(struct command *c, const struct channel *owner) {
  for (struct chunk *chunk = c->chunks; chunk; chunk = chunk->next)
    if (chunk->owner == owner) chunk->owner = NULL;
}

void input_regrant(struct channel *owner, size_t length, int error) {
  (void)error;
  if (length) channel_grant(owner, length);
}
