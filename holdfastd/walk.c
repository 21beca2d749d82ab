#include "holdfastd.h"

enum { DEPTH_MAX = 512 };

struct level {
  struct level *above;
  DIR *dir;
  size_t length; /* of the path of this directory */
};

static int push(struct walk *w, int fd) {
  struct level *level = malloc(sizeof *level);
  DIR *dir = fd < 0 || !level ? NULL : fdopendir(fd);
  if (!dir || w->depth >= DEPTH_MAX) {
    int error = dir ? ELOOP : errno;
    if (dir) closedir(dir);
    if (!dir && fd >= 0) close(fd);
    free(level);
    return error;
  }
  *level = (struct level){.above = w->top, .dir = dir, .length = strlen(w->path)};
  w->top = level;
  w->depth++;
  return 0;
}

static void pop(struct walk *w) {
  struct level *level = w->top;
  w->top = level->above;
  w->depth--;
  closedir(level->dir);
  free(level);
}

int walk_open(struct walk *w, const char *path) { return push(w, open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)); }

int walk_enter(struct walk *w) { return push(w, openat(w->directory, w->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)); }

static void set_entry(struct walk *w) {
  w->directory = dirfd(w->top->dir);
  w->name = w->path + w->top->length + (w->top->length > 0);
}

enum walk_step walk_next(struct walk *w) {
  struct dirent *entry;
  while (w->top) {
    size_t length = w->top->length;
    errno = 0;
    entry = readdir(w->top->dir);
    if (!entry && errno) return WALK_FAILED;
    if (!entry) {
      w->path[length] = 0;
      pop(w);
      if (!w->top) break;
      set_entry(w);
      return WALK_LEAVE;
    }
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    int n = snprintf(w->path + length, sizeof w->path - length, "%s%s", length ? "/" : "", entry->d_name);
    errno = ENAMETOOLONG;
    if (length + (size_t)n >= sizeof w->path) return WALK_FAILED;
    set_entry(w);
    if (fstatat(w->directory, w->name, &w->stat, AT_SYMLINK_NOFOLLOW) == 0) return WALK_ENTRY;
    if (errno != ENOENT) return WALK_FAILED;
  }
  return WALK_END;
}

void walk_close(struct walk *w) {
  while (w->top) pop(w);
}
