/* What the parts of holdfastd show each other, one section per file. docs/reference/protocol.md says what it all means. */
#pragma once
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef PROTOCOL /* tests build older and newer ones */
#define PROTOCOL 1
#endif
#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number
#define BUILD "holdfastd 1 (protocol " TEXT(PROTOCOL) ")"
#define OWNER(member, type, field) ((type *)((char *)(member)-offsetof(type, field)))

enum {
  FRAME_MAX = 262144,
  FRAME_MAX_STRANGER = 512, /* before the client has proved itself it gets no more of our memory */
  OUTPUT_MAX = 65536,
  OUTPUT_HEAD = 10, /* bytes of an OUTPUT frame before those of the stream */
  WAITING_MAX = 262144, /* answers waiting for a client; with more, nothing is read from it or for it */
  CHANNELS_MAX = 4096,
  CONNECTIONS_MAX = 1024,
  PROCESSES_MAX = 64,
  NAME_LIMIT = 256, /* of labels and names of processes */
  SHOWN_LIMIT = 4096, /* of what people are told that runs */
  COMMAND_FDS = 5,
  STREAMS = 4,
  INPUT_WINDOW = 65536,       /* what a call may have waiting for its standard input */
  INPUT_WAITING_MAX = 262144, /* what a process may have */
};

/* --- loop.c: descriptors that become ready, and timers on the monotonic clock --- */

struct watch { /* sits inside the object it wakes */
  int fd;      /* -1: none */
  uint32_t events; /* 0: paused */
  void (*ready)(struct watch *watch);
};
struct timer {
  struct timer *next, **link;
  int64_t at;
  void (*fire)(struct timer *timer);
};

int64_t now_ms(void);
bool loop_open(void);
void loop_turn(bool work); /* handles one event; waits for it unless there is other work */
bool watch_set(struct watch *watch, uint32_t events);
void watch_close(struct watch *watch);
void timer_set(struct timer *timer, int64_t at);
void timer_clear(struct timer *timer);

/* --- frame.c: a queue of bytes, and the fields of frames in it --- */

struct buffer { /* gives its memory back whenever it is empty; `failed` stays set once memory ran out */
  uint8_t *data;
  size_t start, end, size;
  bool failed;
};
struct payload {
  uint8_t *at, *end;
};
struct frame {
  uint8_t type;
  uint32_t channel;
  struct payload payload;
  size_t length; /* with all, as soon as it is known */
};
enum frame_state { FRAME_PART, FRAME_WHOLE, FRAME_BAD };

size_t buffer_length(const struct buffer *buffer);
uint8_t *buffer_room(struct buffer *buffer, size_t length); /* free space behind the end, or NULL */
void buffer_add(struct buffer *buffer, const void *bytes, size_t length);
void buffer_drop(struct buffer *buffer, size_t length);
void buffer_clear(struct buffer *buffer);
enum frame_state frame_first(struct buffer *buffer, size_t max, struct frame *frame);

/* Reads the whole payload by a format: 1 2 4 8 a number of so many bytes, t a `str` without zero bytes (as a C string inside the
   frame, which is changed for it), p the same and absolute, o absolute or empty, l a `list` of them, m a nonce or mac, b all that follows.
   False if the payload is not exactly that, or memory is out. The lists are to be freed in any case. */
struct fields {
  uint64_t n[8]; /* each kind in the order of the format */
  const char *t[4];
  char **l[2];
  uint8_t *bytes;
  size_t length;
};
bool take(struct payload payload, const char *format, struct fields *fields);

/* Adds fields: 1 2 4 a number (unsigned), 8 (uint64_t), t a C string as `str`, s bytes as `str` and b bytes as they are (pointer, size_t). */
void put(struct buffer *out, const char *format, ...);
void put_frame(struct buffer *out, uint8_t type, uint32_t channel, const char *format, va_list values);

/* --- sha256.c --- */

void hmac_sha256(const uint8_t key[32], const uint8_t *message, size_t length, uint8_t mac[32]); /* of at most 128 bytes */

/* --- connection.c: clients and their frames --- */

enum { INPUT = 0x11, INPUT_END, CREDIT, KILL, SIGNAL, RESIZE, DETACH };
enum { STARTED = 0x90, OUTPUT, ENDED, INPUT_CREDIT, OPENED, DONE, FAILED = 0x9f, PROCESS = 0xa0, ENTRY = 0xb0, STATUS = 0xc0 };

struct connection {
  struct connection *next, **link, *next_to_run;
  struct watch watch;
  struct timer deadline;
  struct buffer in, out;
  struct channel *channels; /* in a ring */
  size_t channel_count;
  uint8_t proof[32];
  enum { NEW, GREETED, READY } step;
  enum { FRESH, WATCHER, USER } use; /* a watcher has only asked for STATUS */
  bool cut, to_run;
  int64_t since;
  char label[NAME_LIMIT + 1];
};

extern uint8_t secret[32];
extern struct connection *connections;

void connection_open(int fd);
void connection_wake(struct connection *connection); /* it has something to do or to send: it gets its turn soon */
bool connections_run(void); /* gives all that were woken a turn; true if some have more to do */
void send_frame(struct connection *connection, uint8_t type, uint32_t id, const char *format, ...);
void send_scratch(struct connection *connection, uint32_t id, uint8_t stream, size_t length); /* OUTPUT of what is in `scratch` */
void send_failed(struct connection *connection, uint32_t id, int error, const char *what);
void send_end(struct connection *connection, uint32_t id, int error, const char *what); /* DONE, or FAILED with an errno */
bool random_bytes(void *bytes, size_t length);

/* A frame that opens a channel, with its fields in the order of the protocol: answers, or opens it. */
typedef void request(struct connection *connection, uint32_t id, const struct fields *fields);
request request_start, request_processes, request_read_log, request_attach, request_wait, request_kill_process, request_signal_process,
    request_write_process, request_forget_process, request_stat, request_list, request_read_file, request_write_file, request_remove,
    request_mkdir, request_rename, request_tar_out, request_tar_in, request_status, request_idle_stop, request_stop;

/* --- channel.c --- */

struct channel_type { /* a member that is NULL: the channel has no use for that */
  bool (*pump)(struct channel *channel); /* sends a little; true if there may be more to send or do at once */
  void (*drop)(struct channel *channel); /* it is closed: free it */
  void (*input)(struct channel *channel, const uint8_t *bytes, size_t length, bool end);
  void (*control)(struct channel *channel, uint8_t type, const struct fields *fields); /* KILL, SIGNAL, RESIZE */
  bool detachable;
};
struct channel {
  struct channel *next, *previous;
  struct connection *connection; /* NULL once it is closed */
  const struct channel_type *type;
  uint32_t id, granted; /* bytes of input the client may still send */
  uint64_t credit;      /* bytes of output the client will still take */
};

/* NULL, and FAILED is sent, if there are too many or memory is out. */
void *channel_open(struct connection *connection, uint32_t id, size_t size, const struct channel_type *type);
struct channel *channel_find(const struct connection *connection, uint32_t id);
size_t channel_room(const struct channel *channel); /* how much output may be sent now */
void channel_output(struct channel *channel, uint8_t stream, const void *bytes, size_t length);
/* OPENED; or with an errno FAILED, and the end of the struct. */
void channel_opened(struct channel *channel, uint32_t input_credit, uint64_t offset, int error, const char *what);
void channel_grant(struct channel *channel, size_t length);
void channel_close(struct channel *channel); /* its number is free again; the struct stays */
void channel_end(struct channel *channel, int error, const char *what); /* DONE or FAILED, and the end of the struct */

/* --- keeper.c: one small process per command, its parent, through which nothing of its tree escapes --- */

struct launch {
  char **argv, **env;
  const char *cwd;
  int fds[COMMAND_FDS]; /* become descriptors 0 to 4; -1: none */
  bool pty;
};
struct note { /* from the keeper, one packet each; when its tree is gone it closes the socket */
  enum { NOTE_STARTED, NOTE_FAILED, NOTE_ENDED } what;
  int value; /* the pid, the errno, the wait status */
  char text[256];
};
struct order { /* to the keeper */
  enum { ORDER_KILL, ORDER_SIGNAL } what;
  uint32_t value; /* the grace in milliseconds, the signal */
};

extern mode_t original_umask; /* as they were when the daemon was started: what commands get */
extern struct rlimit original_files;

int keeper_start(const struct launch *launch, pid_t *keeper); /* the socket to it, or -1 */
void close_all_but(int kept, int first); /* every descriptor from `first` on */

/* --- replacement.c: a file written aside that takes the place of another in one step, or leaves no trace --- */

struct replacement {
  int directory, fd; /* fd -1: none */
  char name[256], aside[32];
};

/* These return 0 or an errno. */
int replacement_open(struct replacement *replacement, const char *path, mode_t mode);
int write_all(int fd, const void *bytes, size_t length);
int replacement_commit(struct replacement *replacement, bool sync);
void replacement_discard(struct replacement *replacement);

/* --- command.c: what a call and a process have in common --- */

enum cause { BY_ITSELF, TIMED_OUT, ON_REQUEST, CLIENT_LEFT };

struct result {
  uint8_t code, signal, cause, saved;
  struct buffer report;
  char reason[128];
};
struct stream { /* of the command's descriptor `number`: 1 stdout or the pty, 2 stderr, 3 state, 4 report */
  struct watch watch;
  struct command *command;
  uint8_t number;
  size_t left; /* once the command has ended: bytes it had written that are still to be read */
};
struct command {
  struct channel channel; /* of START; a process needs it only until it is started */
  struct command *next, **link;
  struct process *process; /* NULL: a call, or a process that is forgotten */
  struct watch control, input;
  struct stream streams[STREAMS];
  struct timer timeout;
  struct chunk *chunks; /* input that still has to be written */
  size_t input_waiting, state_length;
  bool state_whole; /* the last byte that came was the one that says so */
  pid_t keeper;
  uint32_t grace;
  pid_t pid;
  bool pty, started;
  bool ended;    /* the command itself */
  bool draining; /* `left` is set in the streams */
  bool finished; /* its result is told; what is left of its tree is the keeper's business only */
  bool gone;     /* the keeper, and with it the tree */
  char *state;
  struct replacement saving;
  struct result result;
};

extern struct command *commands;
/* For bytes on their way from one descriptor to another, with room in front for the head of an OUTPUT frame. */
extern uint8_t scratch_frame[OUTPUT_HEAD + OUTPUT_MAX];
#define scratch (scratch_frame + OUTPUT_HEAD)
extern const struct channel_type call_type;

void command_control_ready(struct watch *watch);
void command_stream_ready(struct watch *watch);
void command_late(struct timer *timer);
void command_abandon(struct command *command, int error, const char *what); /* it could not be started */
void command_kill(struct command *command, enum cause cause, uint64_t grace); /* the whole tree */
void command_signal(struct command *command, uint64_t signal);
void command_resize(struct command *command, uint64_t rows, uint64_t columns);
void send_ended(struct connection *connection, uint32_t id, const struct result *result);

/* --- input.c: input of commands, kept until the pipe or pty takes it --- */

/* The bytes were written or, with an errno, cannot be. Not called if the owner was forgotten before. */
typedef void input_taken(struct channel *owner, size_t length, int error);
input_taken input_regrant; /* lets the client send as much again */

void input_add(struct command *command, struct channel *owner, input_taken *taken, const uint8_t *bytes, size_t length, bool end);
void input_forget(struct command *command, const struct channel *owner);
void input_ready(struct watch *watch);
void input_close(struct command *command, int error);

/* --- process.c: commands that belong to the sandbox, with their output in a log --- */

bool processes_open(const char *state_directory);
struct process *process_create(struct command *command, const char *name, const char *shown, uint64_t cap); /* NULL with errno */
const char *process_id(const struct process *process);
void process_output(struct process *process, const void *bytes, size_t length);
void process_ended(struct process *process, struct result *result); /* takes the result over */
void process_gone(struct process *process); /* the last of its tree has ended */
void process_forget(struct process *process);

/* --- log.c: output kept in files; offsets count from the first byte ever written --- */

struct log {
  int directory, fds[2]; /* the newest part, and the one before it or -1 */
  uint64_t starts[2];    /* the offsets of their first bytes */
  uint64_t written;      /* bytes ever */
  uint64_t half;         /* of what is kept; 0: all is */
  char name[24];
};

bool log_open(struct log *log, int directory, const char *id, uint64_t cap);
void log_write(struct log *log, const void *bytes, size_t length);
ssize_t log_read(const struct log *log, uint64_t *offset, void *bytes, size_t length); /* moves the offset behind what was read */
uint64_t log_oldest(const struct log *log);
void log_remove(struct log *log);

/* --- walk.c: a tree of files, entry by entry, never through a link --- */

struct walk {
  struct level *top;
  size_t depth;
  char path[PATH_MAX]; /* of the entry, below where the walk began */
  const char *name;    /* its last part */
  int directory;       /* what it is in */
  struct stat stat;
};
enum walk_step { WALK_ENTRY, WALK_LEAVE, WALK_END, WALK_FAILED };

int walk_open(struct walk *walk, const char *path); /* of zeros; 0 or an errno */
enum walk_step walk_next(struct walk *walk);     /* WALK_LEAVE: all entries of a directory entered before are done */
int walk_enter(struct walk *walk);               /* the directory that is the current entry; 0 or an errno */
void walk_close(struct walk *walk);

/* --- status.c: busy or idle, and the stop that follows from being idle --- */

void status_open(uint32_t idle_stop_seconds);
void status_used(void); /* the sandbox is in use just now */
void status_used_for(const struct connection *connection, const char *kind, const char *shown);

/* --- socket.c: the way to the daemon, which ends with it, and it with the way --- */

int socket_open(const char *path); /* 0 or an exit code, and people were told */
void socket_pause(void); /* no more clients */
void socket_remove(void);

/* --- serve.c, relay.c: the verbs --- */

struct serve_options {
  const char *socket, *state, *secret_file, *door; /* door: a directory that only our user is to get through, or NULL */
  uint32_t idle_stop;
  bool background;
};

extern bool stopping;

int fail(const char *what, const char *name); /* says so, with errno; the exit code */
int serve(const struct serve_options *options);
void serve_stop(uint64_t grace); /* ends all trees, then the daemon */
int relay(const char *socket);
