#include "holdfastd.h"

int replacement_open(struct replacement *r, const char *path, mode_t mode) {
  char directory[PATH_MAX];
  uint64_t random;
  const char *slash = strrchr(path, '/');
  r->fd = -1;
  if (!slash || !slash[1]) return EISDIR;
  if (slash - path >= PATH_MAX - 1 || strlen(slash + 1) >= sizeof r->name) return ENAMETOOLONG;
  snprintf(directory, sizeof directory, "%.*s", (int)(slash - path + 1), path);
  snprintf(r->name, sizeof r->name, "%s", slash + 1);
  if (!random_bytes(&random, sizeof random)) return EIO;
  snprintf(r->aside, sizeof r->aside, ".holdfast-%016llx", (unsigned long long)random);
  r->directory = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (r->directory < 0) return errno;
  r->fd = openat(r->directory, r->aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  int error = r->fd < 0 ? errno : fchmod(r->fd, mode) < 0 ? errno : 0;
  if (r->fd < 0) close(r->directory);
  if (error) replacement_discard(r);
  return error;
}

int write_all(int fd, const void *bytes, size_t length) {
  for (const char *at = bytes; length;) {
    ssize_t n = write(fd, at, length);
    if (n < 0) return errno;
    at += n;
    length -= (size_t)n;
  }
  return 0;
}

int replacement_commit(struct replacement *r, bool sync) {
  int error = sync && fsync(r->fd) < 0 ? errno : 0;
  if (!error && renameat(r->directory, r->aside, r->directory, r->name) < 0) error = errno;
  if (error) {
    replacement_discard(r);
    return error;
  }
  /* Some file systems tell only now that the bytes did not fit. */
  error = close(r->fd) < 0 ? errno : 0;
  close(r->directory);
  r->fd = -1;
  return error;
}

void replacement_discard(struct replacement *r) {
  if (r->fd < 0) return;
  unlinkat(r->directory, r->aside, 0);
  close(r->fd);
  close(r->directory);
  r->fd = -1;
}
