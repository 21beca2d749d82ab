#include "tar.h"

struct tar_out {
  struct channel channel;
  struct walk walk;
  struct buffer waiting; /* bytes of the archive that are still to be sent */
  int fd;                /* the file whose bytes come next, or -1 */
  uint64_t left;
  size_t padding;
  bool ended;
};

unsigned tar_checksum(const struct tar_header *header) {
  const uint8_t *bytes = (const uint8_t *)header;
  unsigned sum = 0;
  for (size_t i = 0; i < BLOCK; i++)
    sum += i >= offsetof(struct tar_header, checksum) && i < offsetof(struct tar_header, type) ? ' ' : bytes[i];
  return sum;
}

static void add_zeros(struct buffer *out, size_t length) {
  static const uint8_t zeros[2 * BLOCK];
  buffer_add(out, zeros, length);
}

static void add_header(struct buffer *out, const char *name, char type, const struct stat *st, uint64_t size, const char *link) {
  struct tar_header h = {.type = type, .magic = "ustar\0000"};
  strncpy(h.name, name, sizeof h.name);
  strncpy(h.link, link, sizeof h.link);
  snprintf(h.mode, sizeof h.mode, "%07o", st->st_mode & 07777);
  snprintf(h.uid, sizeof h.uid, "%07o", st->st_uid & 07777777);
  snprintf(h.gid, sizeof h.gid, "%07o", st->st_gid & 07777777);
  snprintf(h.size, sizeof h.size, "%011llo", (unsigned long long)(size & 077777777777));
  snprintf(h.mtime, sizeof h.mtime, "%011llo", (unsigned long long)(st->st_mtime < 0 ? 0 : st->st_mtime) & 077777777777);
  memcpy(h.magic + 6, "00", 2);
  snprintf(h.checksum, sizeof h.checksum, "%06o", tar_checksum(&h));
  h.checksum[7] = ' ';
  buffer_add(out, &h, BLOCK);
}

/* A record of an extended header, which begins with its own length. */
static void add_record(struct buffer *out, const char *key, const char *value) {
  char length[24];
  size_t rest = strlen(key) + strlen(value) + 3, digits = 1;
  while ((size_t)snprintf(length, sizeof length, "%zu ", rest + digits) > digits + 1) digits++;
  put(out, "bbbbb", length, strlen(length), key, strlen(key), "=", (size_t)1, value, strlen(value), "\n", (size_t)1);
}

static void add_entry(struct tar_out *t, const char *name, char type, uint64_t size, const char *link) {
  const struct stat *st = &t->walk.stat;
  struct buffer extended = {0};
  char number[24];
  snprintf(number, sizeof number, "%llu", (unsigned long long)size);
  if (strlen(name) > TAR_NAME) add_record(&extended, "path", name);
  if (strlen(link) > TAR_NAME) add_record(&extended, "linkpath", link);
  if (size > 077777777777) add_record(&extended, "size", number);
  size_t length = buffer_length(&extended);
  if (length) {
    add_header(&t->waiting, "pax", 'x', st, length, "");
    buffer_add(&t->waiting, extended.data, length);
    add_zeros(&t->waiting, -length % BLOCK);
  }
  t->waiting.failed |= extended.failed;
  buffer_clear(&extended);
  add_header(&t->waiting, name, type, st, size, link);
}

/* The header of the next entry; 0 or an errno. */
static int next_entry(struct tar_out *t) {
  struct walk *w = &t->walk;
  char link[PATH_MAX] = "", name[PATH_MAX + 1];
  enum walk_step step = walk_next(w);
  if (step == WALK_FAILED) return errno;
  t->ended = step == WALK_END;
  if (t->ended) add_zeros(&t->waiting, 2 * BLOCK);
  if (step != WALK_ENTRY) return 0;
  if (S_ISDIR(w->stat.st_mode)) {
    snprintf(name, sizeof name, "%s/", w->path);
    add_entry(t, name, '5', 0, "");
    return walk_enter(w);
  }
  if (S_ISLNK(w->stat.st_mode)) {
    if (readlinkat(w->directory, w->name, link, sizeof link - 1) < 0) return errno;
    add_entry(t, w->path, '2', 0, link);
  }
  if (!S_ISREG(w->stat.st_mode)) return 0;
  t->fd = openat(w->directory, w->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (t->fd < 0 || fstat(t->fd, &w->stat) < 0) return errno;
  t->left = (uint64_t)w->stat.st_size;
  t->padding = (size_t)(-t->left % BLOCK);
  add_entry(t, w->path, '0', t->left, "");
  return 0;
}

/* More bytes of the file. The header has told how many there are: with fewer, the archive would be a lie. */
static int next_bytes(struct tar_out *t) {
  size_t want = t->left < OUTPUT_MAX ? (size_t)t->left : OUTPUT_MAX;
  uint8_t *room = buffer_room(&t->waiting, want + BLOCK);
  ssize_t n = room && want ? read(t->fd, room, want) : 0;
  if (!room) return ENOMEM;
  if (n < 0) return errno;
  if (want && !n) return ESTALE;
  t->waiting.end += (size_t)n;
  t->left -= (size_t)n;
  if (t->left) return 0;
  add_zeros(&t->waiting, t->padding);
  close(t->fd);
  t->fd = -1;
  return 0;
}

static bool tar_out_pump(struct channel *channel) {
  struct tar_out *t = (struct tar_out *)channel;
  int error = 0;
  while (!error && !t->ended && buffer_length(&t->waiting) < OUTPUT_MAX) error = t->fd >= 0 ? next_bytes(t) : next_entry(t);
  if (error || t->waiting.failed) {
    channel_end(channel, error ? error : ENOMEM, error == ESTALE ? "a file became shorter while it was copied" : "cannot pack the tree");
    return false;
  }
  size_t room = channel_room(channel), length = buffer_length(&t->waiting);
  if (length < room) room = length;
  if (room) channel_output(channel, 1, t->waiting.data + t->waiting.start, room);
  buffer_drop(&t->waiting, room);
  bool done = t->ended && room == length;
  if (done) channel_end(channel, 0, "");
  return room && !done;
}

static void tar_out_drop(struct channel *channel) {
  struct tar_out *t = (struct tar_out *)channel;
  walk_close(&t->walk);
  buffer_clear(&t->waiting);
  if (t->fd >= 0) close(t->fd);
  free(t);
}

static const struct channel_type tar_out_type = {.pump = tar_out_pump, .drop = tar_out_drop, .detachable = true};

void request_tar_out(struct connection *c, uint32_t id, const struct fields *fields) {
  struct tar_out *t = channel_open(c, id, sizeof *t, &tar_out_type);
  if (!t) return;
  t->fd = -1;
  t->channel.credit = fields->n[0];
  channel_opened(&t->channel, 0, 0, walk_open(&t->walk, fields->t[0]), "cannot open the directory");
}
