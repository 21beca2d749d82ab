#include "holdfastd.h"

static int create(const struct log *log) {
  return openat(log->directory, log->name, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static void older_name(const struct log *log, char name[32]) { snprintf(name, 32, "%s.1", log->name); }

bool log_open(struct log *log, int directory, const char *id, uint64_t cap) {
  *log = (struct log){.directory = directory, .half = cap / 2 + cap % 2, .fds = {-1, -1}};
  snprintf(log->name, sizeof log->name, "%s.log", id);
  log->fds[0] = create(log);
  return log->fds[0] >= 0;
}

/* The newest part becomes the older one; what was the older one is dropped. */
static void turn_over(struct log *log) {
  char older[32];
  older_name(log, older);
  if (renameat(log->directory, log->name, log->directory, older) < 0) return;
  if (log->fds[1] >= 0) close(log->fds[1]);
  log->fds[1] = log->fds[0];
  log->starts[1] = log->starts[0];
  log->fds[0] = create(log);
  log->starts[0] = log->written;
}

/* What does not fit on the disk is dropped and not counted. */
void log_write(struct log *log, const void *bytes, size_t length) {
  const char *at = bytes;
  while (length) {
    if (log->half && log->written - log->starts[0] >= log->half) turn_over(log);
    if (log->fds[0] < 0) log->fds[0] = create(log);
    uint64_t part = log->half ? log->starts[0] + log->half - log->written : length;
    ssize_t n = write(log->fds[0], at, part < length ? (size_t)part : length);
    if (n <= 0) return;
    log->written += (uint64_t)n;
    at += n;
    length -= (size_t)n;
  }
}

uint64_t log_oldest(const struct log *log) { return log->fds[1] >= 0 ? log->starts[1] : log->starts[0]; }

ssize_t log_read(const struct log *log, uint64_t *offset, void *bytes, size_t length) {
  int part = *offset < log->starts[0];
  /* No read crosses from one part to the other: pread ends at the end of the file. */
  ssize_t n = pread(log->fds[part], bytes, length, (off_t)(*offset - log->starts[part]));
  if (n > 0) *offset += (uint64_t)n;
  return n;
}

void log_remove(struct log *log) {
  char older[32];
  older_name(log, older);
  for (int i = 0; i < 2; i++)
    if (log->fds[i] >= 0) close(log->fds[i]);
  unlinkat(log->directory, log->name, 0);
  unlinkat(log->directory, older, 0);
}
