/* A wall clock that can be put forward and back for one process: CLOCK_REALTIME has no namespace of its own. Preloaded;
   the file named by CHAOS_CLOCK holds the offset in nanoseconds, eight bytes in the machine's order. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t* offset;

__attribute__((constructor)) static void open_offset(void) {
  const char* path = getenv("CHAOS_CLOCK");
  const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void* at = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
  if (at != MAP_FAILED) offset = at;
  close(fd);
}

int clock_gettime(clockid_t clock, struct timespec* at) {
  const int result = (int)syscall(SYS_clock_gettime, clock, at);
  if (result != 0 || !offset || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
  int64_t ns = at->tv_nsec + *offset % 1000000000;
  at->tv_sec += *offset / 1000000000;
  if (ns < 0) ns += 1000000000, at->tv_sec -= 1;
  if (ns >= 1000000000) ns -= 1000000000, at->tv_sec += 1;
  at->tv_nsec = ns;
  return 0;
}

int gettimeofday(struct timeval* restrict at, void* restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
