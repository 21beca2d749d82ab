#include "holdfastd.h"

#include <libgen.h>
#include <sys/file.h>
#include <sys/inotify.h>

enum { PAUSE_MS = 100, GONE_GRACE_MS = 2000, EXIT_RUNNING = 3 };

static struct watch listener = {.fd = -1}, changes = {.fd = -1};
static int directory = -1; /* of the socket, which may be moved while we run */
static int own = -1;       /* the socket as a file: while it is held its inode stands for no other */
static char name[sizeof((struct sockaddr_un *)0)->sun_path];

/* --- clients --- */

static void listen_again(struct timer *timer) {
  (void)timer;
  watch_set(&listener, EPOLLIN);
}

static struct timer pause_timer = {.fire = listen_again};

static void listener_ready(struct watch *watch) {
  int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0) {
    connection_open(fd);
  } else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
    /* Out of descriptors: the client waits in the queue, and we do not spin. */
    watch_set(watch, 0);
    timer_set(&pause_timer, now_ms() + PAUSE_MS);
  }
}

void socket_pause(void) { watch_close(&listener); }

/* --- the file --- */

static bool is_own(void) {
  struct stat here, ours;
  return fstatat(directory, name, &here, AT_SYMLINK_NOFOLLOW) == 0 && fstat(own, &ours) == 0 && here.st_dev == ours.st_dev &&
         here.st_ino == ours.st_ino;
}

void socket_remove(void) {
  if (is_own()) unlinkat(directory, name, 0);
}

/* Without its file nobody can ever reach us again. */
static void changes_ready(struct watch *watch) {
  while (read(watch->fd, scratch, OUTPUT_MAX) > 0) continue;
  if (!stopping && !is_own()) serve_stop(GONE_GRACE_MS);
}

/* That it may fail costs no more than a daemon which outlives its directory. */
static void watch_file(const char *parent) {
  changes = (struct watch){.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .ready = changes_ready};
  if (changes.fd < 0) return;
  if (inotify_add_watch(changes.fd, parent, IN_CREATE | IN_DELETE | IN_MOVE | IN_DELETE_SELF | IN_ONLYDIR) < 0 || !watch_set(&changes, EPOLLIN))
    watch_close(&changes);
}

/* The lock is held by the open descriptor, for as long as the daemon lives. */
static int lock_file(const char *path) {
  char lock[sizeof name + 8], pid[24];
  snprintf(lock, sizeof lock, "%s.lock", path);
  int fd = open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return fail("cannot open", lock);
  if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
    if (errno != EWOULDBLOCK) return fail("cannot lock", lock);
    ssize_t n = read(fd, pid, sizeof pid - 1);
    pid[n > 0 ? n : 0] = 0;
    fprintf(stderr, "holdfastd: already running on %s (pid %d)\n", path, atoi(pid));
    return EXIT_RUNNING;
  }
  int n = snprintf(pid, sizeof pid, "%d\n", (int)getpid());
  if (ftruncate(fd, 0) < 0 || write(fd, pid, (size_t)n) != n) return fail("cannot write", lock);
  return 0;
}

/* --- opening --- */

static int listen_on(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  struct stat there;
  /* What a daemon that was killed has left; never anything but a socket. */
  errno = EEXIST;
  if (lstat(path, &there) == 0 && (!S_ISSOCK(there.st_mode) || unlink(path) < 0)) return fail("cannot replace", path);
  strcpy(address.sun_path, path);
  listener = (struct watch){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), .ready = listener_ready};
  if (listener.fd < 0 || bind(listener.fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener.fd, 1024) < 0)
    return fail("cannot listen on", path);
  own = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  return own < 0 ? fail("cannot find", path) : 0;
}

int socket_open(const char *path) {
  char copy[sizeof name];
  struct stat owner;
  if (strlen(path) >= sizeof name) {
    errno = ENAMETOOLONG;
    return fail("cannot listen on", path);
  }
  strcpy(copy, path);
  strcpy(name, basename(copy));
  strcpy(copy, path);
  const char *parent = dirname(copy);
  if (mkdir(parent, 0700) < 0 && errno != EEXIST) return fail("cannot make", parent);
  directory = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return fail("cannot open", parent);
  int code = lock_file(path);
  if (!code) code = listen_on(path);
  if (code) return code;
  /* In a container the daemon is often root and the directory a user's: who owns the directory may connect. */
  if (fstat(directory, &owner) == 0 && owner.st_uid != geteuid() &&
      fchownat(directory, name, owner.st_uid, owner.st_gid, AT_SYMLINK_NOFOLLOW) < 0) {
    /* Or it is another user: then whoever gets to the directory may try, and the handshake decides. */
    if (errno != EPERM || fchmodat(directory, name, 0777, 0) < 0) return fail("cannot give away", path);
  }
  watch_file(parent);
  return watch_set(&listener, EPOLLIN) ? 0 : fail("cannot watch", path);
}
