#include "tar.h"

enum { WINDOW = 1 << 20, EXTENDED_MAX = 65536, PENDING_MAX = 256 };

/* A directory whose mode and time are set when all that is in it has come. */
struct pending {
  struct pending *below;
  int fd;
  mode_t mode;
  int64_t mtime;
  char path[];
};

struct tar_in {
  struct channel channel;
  int root, fd; /* fd: the file whose bytes come, or -1 */
  struct pending *pending;
  size_t pending_count, filled, padding;
  uint64_t left;          /* bytes of the entry that still come */
  struct tar_header header;
  struct buffer extended; /* what an extended header says about the entry after it */
  char path[PATH_MAX], link[PATH_MAX];
  bool has_path, has_link, has_size, has_mtime, ended;
  uint64_t size;
  int64_t mtime;
};

static void pending_settle(struct tar_in *t, const char *path) {
  while (t->pending) {
    struct pending *p = t->pending;
    size_t length = strlen(p->path);
    if (path && !strncmp(path, p->path, length) && path[length] == '/') return;
    fchmod(p->fd, p->mode);
    futimens(p->fd, (struct timespec[]){{.tv_nsec = UTIME_OMIT}, {.tv_sec = p->mtime}});
    close(p->fd);
    t->pending = p->below;
    t->pending_count--;
    free(p);
  }
}

/* The directory that the last part of the path is in, opened part by part and never through a link; -1 with errno.
   `last` is NULL if the path is the root itself. The path is changed. */
static int open_parent(const struct tar_in *t, char *path, const char **last) {
  int at = *path == '/' ? -1 : fcntl(t->root, F_DUPFD_CLOEXEC, 0);
  *last = NULL;
  if (*path == '/') errno = EPERM;
  for (char *part = strtok(path, "/"); part && at >= 0; part = strtok(NULL, "/")) {
    int next = at;
    if (!strcmp(part, ".")) continue;
    if (!strcmp(part, "..")) {
      errno = EPERM;
      next = -1;
    } else if (*last) {
      if (mkdirat(at, *last, 0700) == 0) fchmodat(at, *last, 0777 & ~original_umask, 0);
      next = openat(at, *last, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    int error = errno;
    if (next != at) close(at);
    errno = error;
    at = next;
    *last = part;
  }
  return at;
}

static bool make_directory(struct tar_in *t, int parent, const char *name, mode_t mode) {
  if (name && mkdirat(parent, name, 0700) < 0 && errno != EEXIST) return false;
  int fd = openat(name ? parent : t->root, name ? name : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct pending *p = fd < 0 || t->pending_count >= PENDING_MAX ? NULL : malloc(sizeof *p + strlen(t->path) + 1);
  if (!p) {
    /* Nested too deep to wait for what is in it. */
    int result = fd < 0 ? -1 : fchmod(fd, mode);
    if (fd >= 0) close(fd);
    return result == 0;
  }
  *p = (struct pending){.below = t->pending, .fd = fd, .mode = mode, .mtime = t->mtime};
  strcpy(p->path, t->path);
  t->pending = p;
  t->pending_count++;
  return true;
}

static bool make_link(struct tar_in *t, int parent, const char *name, bool hard) {
  const char *last;
  if (!hard) return symlinkat(t->link, parent, name) == 0;
  int from = open_parent(t, t->link, &last);
  bool good = from >= 0 && last && linkat(from, last, parent, name, 0) == 0;
  int error = errno;
  if (from >= 0) close(from);
  errno = error;
  return good;
}

/* Makes what the header says; the bytes of a file come later. 0 or an errno. */
static int make_entry(struct tar_in *t, char type, mode_t mode) {
  char path[PATH_MAX];
  const char *name;
  struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = t->mtime}};
  size_t length = strlen(t->path);
  while (length && t->path[length - 1] == '/') t->path[--length] = 0;
  strcpy(path, t->path);
  pending_settle(t, path);
  int parent = open_parent(t, path, &name);
  if (parent < 0) return errno;
  bool good = type == '5' || name;
  errno = EISDIR;
  if (good && type == '5') {
    good = make_directory(t, parent, name, mode);
  } else if (good) {
    good = unlinkat(parent, name, 0) == 0 || errno == ENOENT;
    if (good && type == '0') t->fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (good && type == '0') good = t->fd >= 0 && fchmod(t->fd, mode) == 0;
    if (good && type != '0') good = make_link(t, parent, name, type == '1');
    if (good && type == '2') utimensat(parent, name, times, AT_SYMLINK_NOFOLLOW);
  }
  int error = good ? 0 : errno;
  close(parent);
  return error;
}

/* --- headers --- */

/* Octal digits, or GNU's binary for what does not fit. */
static int64_t number_of(const char *field, size_t size) {
  uint64_t value = 0;
  bool binary = field[0] & 0x80;
  for (size_t i = binary; i < size; i++) {
    uint8_t c = (uint8_t)field[i];
    if (binary) value = value << 8 | c;
    if (!binary && c >= '0' && c <= '7') value = value << 3 | (c - '0');
  }
  return (int64_t)value;
}

/* The records of an extended header: length, blank, key=value, end of line. */
static int read_records(struct tar_in *t) {
  char *at = (char *)t->extended.data, *end = at + t->extended.end;
  while (at < end) {
    char *key, *value, *stop = memchr(at, ' ', (size_t)(end - at));
    size_t length = stop ? strtoul(at, NULL, 10) : 0;
    if (!length || length > (size_t)(end - at) || stop >= at + length) return EINVAL;
    key = stop + 1;
    at[length - 1] = 0;
    at += length;
    value = strchr(key, '=');
    if (!value) return EINVAL;
    *value++ = 0;
    bool path = !strcmp(key, "path"), link = !strcmp(key, "linkpath");
    if ((path || link) && (strlen(value) >= PATH_MAX || value + strlen(value) != at - 1)) return ENAMETOOLONG;
    if (path) strcpy(t->path, value), t->has_path = true;
    if (link) strcpy(t->link, value), t->has_link = true;
    if (!strcmp(key, "size")) t->size = strtoull(value, NULL, 10), t->has_size = true;
    if (!strcmp(key, "mtime")) t->mtime = strtoll(value, NULL, 10), t->has_mtime = true;
  }
  return 0;
}

/* All bytes of the entry have come. */
static int end_entry(struct tar_in *t) {
  int error = t->extended.failed ? ENOMEM : 0;
  char type = t->header.type;
  if (t->fd >= 0) {
    futimens(t->fd, (struct timespec[]){{.tv_nsec = UTIME_OMIT}, {.tv_sec = t->mtime}});
    if (close(t->fd) < 0) error = errno;
    t->fd = -1;
  }
  size_t length = buffer_length(&t->extended);
  if (!error && type == 'x' && length) error = read_records(t);
  if (!error && (type == 'L' || type == 'K')) {
    if (length >= PATH_MAX) error = ENAMETOOLONG;
    snprintf(type == 'L' ? t->path : t->link, PATH_MAX, "%.*s", (int)length, length ? (char *)t->extended.data : "");
    *(type == 'L' ? &t->has_path : &t->has_link) = true;
  }
  buffer_clear(&t->extended);
  return error;
}

static int read_header(struct tar_in *t) {
  static const struct tar_header zeros;
  const struct tar_header *h = &t->header;
  char type = h->type ? h->type : '0';
  t->ended = !memcmp(h, &zeros, BLOCK);
  if (t->ended) return 0;
  if (number_of(h->checksum, sizeof h->checksum) != tar_checksum(h)) return EINVAL;
  bool meta = type && strchr("xgLK", type), known = type && strchr("01257", type);
  if (!meta && !known) return ENOTSUP;
  if (type == '7') type = '0';
  t->left = !meta && t->has_size ? t->size : (uint64_t)number_of(h->size, sizeof h->size);
  if (!meta && type != '0') t->left = 0;
  if (t->left > INT64_MAX || (meta && t->left > EXTENDED_MAX)) return EFBIG;
  t->padding = (size_t)(-t->left % BLOCK);
  if (!meta) {
    bool prefixed = !memcmp(h->magic, "ustar", 6) && h->prefix[0];
    if (!t->has_path)
      snprintf(t->path, PATH_MAX, "%.*s%s%.*s", prefixed ? 155 : 0, h->prefix, prefixed ? "/" : "", TAR_NAME, h->name);
    if (!t->has_link) snprintf(t->link, PATH_MAX, "%.*s", TAR_NAME, h->link);
    if (!t->has_mtime) t->mtime = number_of(h->mtime, sizeof h->mtime);
    t->has_path = t->has_link = t->has_size = t->has_mtime = false;
    int error = make_entry(t, type, (mode_t)number_of(h->mode, sizeof h->mode) & 01777);
    if (error) return error;
  }
  return t->left ? 0 : end_entry(t);
}

/* --- the channel --- */

static int unpack(struct tar_in *t, const uint8_t *bytes, size_t length) {
  int error = 0;
  while (length && !error && !t->ended) {
    size_t want = t->left ? (t->left < length ? (size_t)t->left : length) : t->padding ? t->padding : BLOCK - t->filled;
    size_t n = want < length ? want : length;
    if (t->left) {
      if (t->fd >= 0) error = write_all(t->fd, bytes, n);
      if (t->fd < 0) buffer_add(&t->extended, bytes, n);
      t->left -= n;
      if (!t->left && !error) error = end_entry(t);
    } else if (t->padding) {
      t->padding -= n;
    } else {
      memcpy((char *)&t->header + t->filled, bytes, n);
      t->filled = (t->filled + n) % BLOCK;
      if (!t->filled) error = read_header(t);
    }
    bytes += n;
    length -= n;
  }
  return error;
}

static void tar_in_input(struct channel *channel, const uint8_t *bytes, size_t length, bool end) {
  struct tar_in *t = (struct tar_in *)channel;
  int error = unpack(t, bytes, length);
  if (end && !t->ended) error = EINVAL;
  if (error) {
    char what[300];
    snprintf(what, sizeof what, "cannot unpack %.200s", *t->path ? t->path : "the archive");
    channel_end(channel, error, what);
  } else if (end) {
    pending_settle(t, NULL);
    channel_end(channel, 0, "");
  } else {
    channel_grant(channel, length);
  }
}

static void tar_in_drop(struct channel *channel) {
  struct tar_in *t = (struct tar_in *)channel;
  pending_settle(t, NULL);
  if (t->fd >= 0) close(t->fd);
  if (t->root >= 0) close(t->root);
  buffer_clear(&t->extended);
  free(t);
}

static const struct channel_type tar_in_type = {.drop = tar_in_drop, .input = tar_in_input, .detachable = true};

void request_tar_in(struct connection *c, uint32_t id, const struct fields *fields) {
  struct tar_in *t = channel_open(c, id, sizeof *t, &tar_in_type);
  if (!t) return;
  t->fd = -1;
  if (mkdir(fields->t[0], 0700) == 0) chmod(fields->t[0], 0777 & ~original_umask);
  t->root = open(fields->t[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  channel_opened(&t->channel, WINDOW, 0, t->root < 0 ? errno : 0, "cannot unpack into the directory");
}
