/* A warm call against posix_spawn and wait of the same, in turns, without Node between: raw-call SOCKET SECRET-HEX [count] */
#include <spawn.h>

#include "../holdfastd/holdfastd.h"

extern char **environ;

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}
static int order(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }
static void need(int fd, void *to, size_t n) {
  for (size_t at = 0; at < n;) {
    ssize_t got = read(fd, (char *)to + at, n - at);
    if (got <= 0) exit(1);
    at += (size_t)got;
  }
}
static uint8_t frame_in(int fd, uint8_t *payload) {
  uint8_t head[9];
  uint32_t length;
  need(fd, head, 9);
  memcpy(&length, head, 4);
  need(fd, payload, length - 5);
  return head[4];
}
static void frame_out(int fd, uint8_t type, uint32_t channel, const void *payload, uint32_t n) {
  uint8_t all[4096];
  uint32_t length = n + 5;
  memcpy(all, &length, 4);
  all[4] = type;
  memcpy(all + 5, &channel, 4);
  memcpy(all + 9, payload, n);
  if (write(fd, all, n + 9) < 0) exit(1);
}
int main(int argc, char **argv) {
  int count = argc > 3 ? atoi(argv[3]) : 2000;
  uint8_t key[32], in[70000], out[400], mac[32], message[70];
  for (int i = 0; i < 32; i++) sscanf(argv[2] + 2 * i, "%2hhx", &key[i]);
  struct sockaddr_un a = {.sun_family = AF_UNIX};
  strcpy(a.sun_path, argv[1]);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(fd, (void *)&a, sizeof a)) return 1;
  memset(out, 0, sizeof out);
  memcpy(out, "HFD\1", 4);
  frame_out(fd, 1, 0, out, 36);
  frame_in(fd, in);
  memcpy(message, "client", 6);
  memcpy(message + 6, in + 1, 32);
  memset(message + 38, 0, 32);
  hmac_sha256(key, message, 70, mac);
  memcpy(out, mac, 32);
  frame_out(fd, 2, 0, out, 36);
  frame_in(fd, in);
  struct buffer start = {0};
  put(&start, "11444228tttt4ttt4t", 0, 0, 0, 1000, 1 << 20, 0, 0, (uint64_t)0, "", "", "", "", 3, "/bin/bash", "-c", "true", 1, "PATH=/usr/bin:/bin");
  char *args[] = {"/bin/bash", "-c", "true", NULL}, *env[] = {"PATH=/usr/bin:/bin", NULL};
  double *spawn = calloc(sizeof(double), count), *call = calloc(sizeof(double), count), bytes = 0;
  for (int i = 0; i < count; i++) {
    double t = now_us();
    pid_t pid;
    posix_spawn(&pid, "/bin/bash", NULL, NULL, args, env);
    waitpid(pid, NULL, 0);
    spawn[i] = now_us() - t;
    t = now_us();
    frame_out(fd, 0x10, 1, start.data, (uint32_t)start.end);
    while (frame_in(fd, in) != 0x92) continue;
    call[i] = now_us() - t;
  }
  qsort(spawn, count, sizeof(double), order);
  qsort(call, count, sizeof(double), order);
  printf("posix_spawn p50 %.0f us p95 %.0f us; call p50 %.0f us p95 %.0f us; ratio p50 %.2f p95 %.2f\n", spawn[count / 2], spawn[count * 95 / 100],
         call[count / 2], call[count * 95 / 100], call[count / 2] / spawn[count / 2], call[count * 95 / 100] / spawn[count * 95 / 100]);
  start = (struct buffer){0};
  put(&start, "11444228tttt4ttt4t", 0, 0, 0, 1000, 0xffffffffu, 0, 0, (uint64_t)0, "", "", "", "", 3, "/bin/bash", "-c", "head -c 1G /dev/zero", 1, "PATH=/usr/bin:/bin");
  double t = now_us();
  frame_out(fd, 0x10, 1, start.data, (uint32_t)start.end);
  for (;;) {
    uint8_t head[9];
    uint32_t length;
    need(fd, head, 9);
    memcpy(&length, head, 4);
    need(fd, in, length - 5);
    if (head[4] == 0x91) bytes += length - 6;
    if (head[4] == 0x92) break;
  }
  printf("output %.0f bytes, %.0f MB/s\n", bytes, bytes / (now_us() - t));
}
