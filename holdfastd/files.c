#include "holdfastd.h"

enum { FLAG_ALL = 1, FLAG_PARENTS = 1, FLAG_SYNC = 2, STEPS = 64, FILE_WINDOW = 1 << 20 };

/* --- looking --- */

static bool send_entry(struct connection *c, uint32_t id, int directory, const char *path, const struct stat *st) {
  char target[PATH_MAX] = "";
  const char *slash = strrchr(path, '/');
  if (S_ISLNK(st->st_mode) && readlinkat(directory, path, target, sizeof target - 1) < 0) return false;
  int kind = S_ISREG(st->st_mode) ? 1 : S_ISDIR(st->st_mode) ? 2 : S_ISLNK(st->st_mode) ? 3 : 4;
  int64_t modified = (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
  send_frame(c, ENTRY, id, "t1488t", slash ? slash + 1 : path, kind, st->st_mode & 07777, (uint64_t)st->st_size, modified, target);
  return true;
}

void request_stat(struct connection *c, uint32_t id, const struct fields *f) {
  struct stat st;
  bool good = fstatat(AT_FDCWD, f->t[0], &st, f->n[0] ? 0 : AT_SYMLINK_NOFOLLOW) == 0 && send_entry(c, id, AT_FDCWD, f->t[0], &st);
  send_end(c, id, good ? 0 : errno, "cannot look at the file");
}

/* --- trees: LIST and REMOVE --- */

struct tree {
  struct channel channel;
  struct walk walk;
  char *remove; /* the path, if it is to be removed */
};

static void tree_drop(struct channel *channel) {
  struct tree *t = (struct tree *)channel;
  walk_close(&t->walk);
  free(t->remove);
  free(t);
}

static bool list_pump(struct channel *channel) {
  struct walk *w = &((struct tree *)channel)->walk;
  for (int i = 0; i < STEPS; i++) {
    enum walk_step step = walk_next(w);
    if (step == WALK_END || step == WALK_FAILED) channel_end(channel, step == WALK_END ? 0 : errno, "cannot list the directory");
    if (step != WALK_ENTRY) return false;
    send_entry(channel->connection, channel->id, w->directory, w->name, &w->stat);
  }
  return true;
}

static bool remove_pump(struct channel *channel) {
  struct tree *t = (struct tree *)channel;
  struct walk *w = &t->walk;
  for (int i = 0; i < STEPS; i++) {
    enum walk_step step = walk_next(w);
    int error = 0;
    if (step == WALK_ENTRY && S_ISDIR(w->stat.st_mode)) {
      error = walk_enter(w);
    } else if (step == WALK_FAILED) {
      error = errno;
    } else {
      int result = step == WALK_END ? rmdir(t->remove) : unlinkat(w->directory, w->name, step == WALK_LEAVE ? AT_REMOVEDIR : 0);
      error = result < 0 && errno != ENOENT ? errno : 0;
    }
    if (!error && step != WALK_END) continue;
    channel_end(channel, error, "cannot remove all of the tree");
    return false;
  }
  return true;
}

static const struct channel_type list_type = {.pump = list_pump, .drop = tree_drop, .detachable = true};
static const struct channel_type remove_type = {.pump = remove_pump, .drop = tree_drop, .detachable = true};

static void tree_open(struct connection *c, uint32_t id, const char *path, const struct channel_type *type) {
  struct tree *t = channel_open(c, id, sizeof *t, type);
  if (!t) return;
  t->remove = strdup(path);
  int error = t->remove ? walk_open(&t->walk, path) : ENOMEM;
  if (error) channel_end(&t->channel, error, "cannot open the directory");
}

void request_list(struct connection *c, uint32_t id, const struct fields *f) { tree_open(c, id, f->t[0], &list_type); }

void request_remove(struct connection *c, uint32_t id, const struct fields *f) {
  const char *path = f->t[0];
  bool gone = unlink(path) == 0 || errno == ENOENT;
  if (!gone && (errno == EISDIR || errno == EPERM)) gone = rmdir(path) == 0;
  if (!gone && (errno == ENOTEMPTY || errno == EEXIST) && f->n[0] & FLAG_ALL) {
    tree_open(c, id, path, &remove_type);
  } else {
    send_end(c, id, gone ? 0 : errno, "cannot remove");
  }
}

/* --- names --- */

/* Makes the directories that lead to the last part of the path. */
static int make_parents(const char *path, mode_t mode) {
  char parent[PATH_MAX];
  for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    if (slash - path >= PATH_MAX) return ENAMETOOLONG;
    snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
    if (mkdir(parent, 0700) == 0) {
      if (chmod(parent, mode) < 0) return errno;
    } else if (errno != EEXIST) {
      return errno;
    }
  }
  return 0;
}

void request_mkdir(struct connection *c, uint32_t id, const struct fields *f) {
  mode_t mode = f->n[0] & 07777;
  bool parents = f->n[1] & FLAG_PARENTS;
  struct stat st;
  int error = parents ? make_parents(f->t[0], mode) : 0;
  if (!error && (mkdir(f->t[0], 0700) < 0 || chmod(f->t[0], mode) < 0)) error = errno;
  if (error == EEXIST && parents && stat(f->t[0], &st) == 0 && S_ISDIR(st.st_mode)) error = 0;
  send_end(c, id, error, "cannot make the directory");
}

void request_rename(struct connection *c, uint32_t id, const struct fields *f) {
  send_end(c, id, rename(f->t[0], f->t[1]) < 0 ? errno : 0, "cannot rename");
}

/* --- READ_FILE --- */

struct reading {
  struct channel channel;
  int fd;
  uint64_t left;
};

static bool reading_pump(struct channel *channel) {
  struct reading *f = (struct reading *)channel;
  size_t room = channel_room(channel);
  if (f->left < room) room = (size_t)f->left;
  if (!room && f->left) return false;
  ssize_t n = room ? read(f->fd, scratch, room) : 0;
  if (n > 0) {
    f->left -= (uint64_t)n;
    channel_output(channel, 1, scratch, (size_t)n);
  } else {
    channel_end(channel, n < 0 ? errno : 0, "cannot read the file");
  }
  return n > 0;
}

static void reading_drop(struct channel *channel) {
  struct reading *f = (struct reading *)channel;
  if (f->fd >= 0) close(f->fd);
  free(f);
}

static const struct channel_type reading_type = {.pump = reading_pump, .drop = reading_drop, .detachable = true};

void request_read_file(struct connection *c, uint32_t id, const struct fields *fields) {
  struct stat st = {0};
  struct reading *f = channel_open(c, id, sizeof *f, &reading_type);
  if (!f) return;
  f->left = fields->n[1] ? fields->n[1] : UINT64_MAX;
  f->channel.credit = fields->n[2];
  f->fd = open(fields->t[0], O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  int error = f->fd < 0 || fstat(f->fd, &st) < 0 ? errno : S_ISDIR(st.st_mode) ? EISDIR : S_ISREG(st.st_mode) ? 0 : EINVAL;
  if (!error && fields->n[0] && lseek(f->fd, (off_t)fields->n[0], SEEK_SET) < 0) error = errno;
  channel_opened(&f->channel, 0, (uint64_t)st.st_size, error, "cannot read the file");
}

/* --- WRITE_FILE --- */

struct writing {
  struct channel channel;
  struct replacement replacement;
  bool sync;
};

static void writing_input(struct channel *channel, const uint8_t *bytes, size_t length, bool end) {
  struct writing *f = (struct writing *)channel;
  int error = end ? replacement_commit(&f->replacement, f->sync) : write_all(f->replacement.fd, bytes, length);
  if (error || end) {
    channel_end(channel, error, "cannot write the file");
  } else {
    channel_grant(channel, length);
  }
}

static void writing_drop(struct channel *channel) {
  replacement_discard(&((struct writing *)channel)->replacement);
  free(channel);
}

static const struct channel_type writing_type = {.drop = writing_drop, .input = writing_input, .detachable = true};

void request_write_file(struct connection *c, uint32_t id, const struct fields *fields) {
  struct writing *f = channel_open(c, id, sizeof *f, &writing_type);
  if (!f) return;
  f->sync = fields->n[1] & FLAG_SYNC;
  f->replacement.fd = -1;
  int error = fields->n[1] & FLAG_PARENTS ? make_parents(fields->t[0], 0700) : 0;
  if (!error) error = replacement_open(&f->replacement, fields->t[0], fields->n[0] & 07777);
  channel_opened(&f->channel, FILE_WINDOW, 0, error, "cannot write the file");
}
