/* Feeds bytes to a connection as a client would, before and after the handshake. What would touch the machine is
   replaced: no forks, no files, and time stands still. The first byte says how the input begins. */
#include "../holdfastd.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  signal(SIGPIPE, SIG_IGN);
  return 0;
}

/* --- the machine, for the linker's --wrap --- */

#define ALLOW(name, parameters)  \
  int __wrap_##name parameters;  \
  int __wrap_##name parameters { return 0; }

ALLOW(kill, (pid_t pid, int signal))
ALLOW(epoll_ctl, (int e, int op, int fd, struct epoll_event *event))
ALLOW(fchmod, (int fd, mode_t m))
ALLOW(futimens, (int fd, const struct timespec t[2]))
ALLOW(fsync, (int fd))
ALLOW(unlink, (const char *p))
ALLOW(unlinkat, (int d, const char *p, int f))
ALLOW(rmdir, (const char *p))
ALLOW(mkdir, (const char *p, mode_t m))
ALLOW(mkdirat, (int d, const char *p, mode_t m))
ALLOW(chmod, (const char *p, mode_t m))
ALLOW(fchmodat, (int d, const char *p, mode_t m, int f))
ALLOW(rename, (const char *a, const char *b))
ALLOW(renameat, (int d, const char *a, int e, const char *b))
ALLOW(symlinkat, (const char *t, int d, const char *p))
ALLOW(linkat, (int d, const char *a, int e, const char *b, int f))
ALLOW(utimensat, (int d, const char *p, const struct timespec t[2], int f))
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int directory, const char *path, int flags, ...);

/* Directories are an empty one, files are /dev/null. */
int __wrap_open(const char *path, int flags, ...) {
  if (path[0] == '/' && path[1] == 'n') return errno = ENOENT, -1;
  return __real_open(flags & O_DIRECTORY ? "/proc/self/task" : "/dev/null", (flags & (O_DIRECTORY | O_ACCMODE)) | O_CLOEXEC);
}
/* A tree that is walked has no second level: it would be the first one again, without end. */
int __wrap_openat(int directory, const char *path, int flags, ...) {
  if (flags & O_DIRECTORY && !(flags & O_PATH)) return errno = ENOENT, -1;
  return __wrap_open(path, flags);
}

/* --- the client, on a descriptor that does not exist --- */

enum { CLIENT = 1 << 20 };
static const uint8_t *input;
static size_t input_left, piece;
ssize_t __real_read(int fd, void *bytes, size_t length);
ssize_t __wrap_read(int fd, void *bytes, size_t length);
ssize_t __real_write(int fd, const void *bytes, size_t length);
ssize_t __wrap_write(int fd, const void *bytes, size_t length);
int __real_close(int fd);
int __wrap_close(int fd);

ssize_t __wrap_read(int fd, void *bytes, size_t length) {
  if (fd != CLIENT) return __real_read(fd, bytes, length);
  if (length > input_left) length = input_left;
  if (length > piece) length = piece;
  memcpy(bytes, input, length);
  input += length;
  input_left -= length;
  return (ssize_t)length;
}
/* It takes half of what it is sent, and now and then nothing. */
ssize_t __wrap_write(int fd, const void *bytes, size_t length) {
  static unsigned turn;
  if (fd != CLIENT) return __real_write(fd, bytes, length);
  if (turn++ % 4 == 3) return errno = EAGAIN, -1;
  return (ssize_t)(length + 1) / 2;
}
int __wrap_close(int fd) { return fd == CLIENT ? 0 : __real_close(fd); }

/* --- keepers that are not there: each command starts, ends, and is gone when all is over --- */

enum { KEEPER = 99999 };
static bool closing;
static uint8_t chance;
pid_t __wrap_fork(void);
ssize_t __wrap_recv(int fd, void *bytes, size_t length, int flags);
ssize_t __wrap_getrandom(void *bytes, size_t length, unsigned flags);

pid_t __wrap_fork(void) { return KEEPER; }
ssize_t __wrap_recv(int fd, void *bytes, size_t length, int flags) {
  struct command *c = commands;
  while (c && c->control.fd != fd) c = c->next;
  if (closing || !c) return 0;
  if (c->ended) return errno = EAGAIN, -1;
  *(struct note *)bytes = (struct note){.what = c->started ? NOTE_ENDED : NOTE_STARTED, .value = c->started ? 0 : KEEPER};
  return sizeof(struct note);
}
/* The same numbers each time: the fuzzer can know the id of a process. */
ssize_t __wrap_getrandom(void *bytes, size_t length, unsigned flags) {
  memset(bytes, chance++, length);
  return (ssize_t)length;
}

static void end_commands(void) {
  closing = true;
  while (commands) {
    struct process *process = commands->started ? commands->process : NULL;
    commands->control.ready(&commands->control);
    if (process) process_forget(process);
  }
  closing = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size) return 0;
  stopping = false;
  chance = 0;
  connection_open(CLIENT);
  /* Odd: as if the handshake were done. The rest of the byte says in pieces of what size the input comes. */
  if (data[0] & 1) connections->step = READY;
  piece = data[0] >> 1 ? (size_t)(data[0] >> 1) * 16 : size;
  input = data + 1;
  input_left = size - 1;
  /* The last read, of nothing, closes the connection. */
  for (int i = 0; connections && i < 100000; i++) {
    connections->watch.ready(&connections->watch);
    connections_run();
    if (commands && i % 2) commands->control.ready(&commands->control);
  }
  end_commands();
  if (connections) abort();
  return 0;
}
