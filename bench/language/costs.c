/* What an answer of 1,000 tokens allocates: costs MODEL THREADS prints a line of JSON. Its
 * allocation functions stand before those of the C library (glibc), for Fettle's library too. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fettle/fettle.h"

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static atomic_long g_calls, g_bytes;

static void Count(size_t size) {
  atomic_fetch_add(&g_calls, 1);
  atomic_fetch_add(&g_bytes, (long)size);
}

void* malloc(size_t size) {
  Count(size);
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  Count(count * size);
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  Count(size);
  return __libc_realloc(old, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  Count(size);
  return __libc_memalign(alignment, size);
}
void* memalign(size_t alignment, size_t size) { return aligned_alloc(alignment, size); }
int posix_memalign(void** made, size_t alignment, size_t size) {
  *made = aligned_alloc(alignment, size);
  return *made == NULL ? ENOMEM : 0;
}

static long ResidentBytes(void) {
  long all = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld %ld", &all, &resident) != 2) resident = 0;
  if (file != NULL) fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

int main(int argc, char** argv) {
  enum { kWarm = 32, kCounted = 1000 };
  if (argc != 3) return 2;
  fettle_generate_options options = {sizeof(fettle_generate_options), kWarm + kCounted + 8,
                                     atoi(argv[2])};
  fettle_generate* generate = NULL;
  int32_t token = 1;
  long calls = 0, bytes = 0, resident = 0;
  fettle_status status = fettle_generate_create(argv[1], &options, &generate);
  for (int i = 0; status == FETTLE_OK && i < kWarm + kCounted; ++i) {
    if (i == kWarm) {
      resident = ResidentBytes();
      calls = g_calls;
      bytes = g_bytes;
    }
    status = fettle_generate_read(generate, &token, 1);
    if (status == FETTLE_OK) status = fettle_generate_next(generate, &token);
  }
  if (status != FETTLE_OK) {
    fprintf(stderr, "%s\n", fettle_last_error());
    return 1;
  }
  calls = g_calls - calls;
  bytes = g_bytes - bytes;
  printf("{\"tokens\": %d, \"allocations\": %ld, \"bytes\": %ld, \"resident_growth\": %ld}\n",
         kCounted, calls, bytes, ResidentBytes() - resident);
  fettle_generate_free(generate);
  return 0;
}
