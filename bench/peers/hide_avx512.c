/* hide_avx512.so: a library for LD_PRELOAD that shows a program a processor without AVX-512, AMX
 * and AVX-VNNI, so that an engine which has no switch for it runs its kernels for AVX2.
 *
 *     cc -O2 -shared -fPIC bench/peers/hide_avx512.c -o hide.so
 *     LD_PRELOAD=./hide.so PROGRAM
 *
 * It asks the kernel to make the instruction cpuid fault (arch_prctl(2), ARCH_SET_CPUID; Linux,
 * Intel since Ivy Bridge) and answers in the handler of SIGSEGV with the bits taken away. The
 * request holds for threads that start later. Programs that were started read it again, as
 * LD_PRELOAD is in their environment. Exits with 77 where the kernel or processor cannot do it.
 * What the loader chose before (memcpy and the like of the C library) stays. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { kSetCpuid = 0x1012 }; /* ARCH_SET_CPUID of asm/prctl.h */

static const unsigned kLeaf7Ebx =
    1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31;
static const unsigned kLeaf7Ecx = 1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14;
static const unsigned kLeaf7Edx =
    1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25;
static const unsigned kLeaf71Eax =
    1u << 4 | 1u << 5 | 1u << 21 | 1u << 23; /* AVX-VNNI, bf16, AMX-FP16, AVX-IFMA */
static const unsigned kLeaf71Edx =
    1u << 4 | 1u << 5 | 1u << 10 | 1u << 19; /* AVX-VNNI-INT8, NE-CONVERT, INT16, AVX10 */

static void answer(greg_t* registers) {
  const unsigned leaf = (unsigned)registers[REG_RAX], part = (unsigned)registers[REG_RCX];
  unsigned a, b, c, d;
  syscall(SYS_arch_prctl, kSetCpuid, 1);
  __cpuid_count(leaf, part, a, b, c, d);
  syscall(SYS_arch_prctl, kSetCpuid, 0);
  if (leaf == 7 && part == 0) {
    b &= ~kLeaf7Ebx;
    c &= ~kLeaf7Ecx;
    d &= ~kLeaf7Edx;
  }
  if (leaf == 7 && part == 1) {
    a &= ~kLeaf71Eax;
    d &= ~kLeaf71Edx;
  }
  registers[REG_RAX] = a;
  registers[REG_RBX] = b;
  registers[REG_RCX] = c;
  registers[REG_RDX] = d;
  registers[REG_RIP] += 2; /* 0f a2 */
}

static void on_fault(int signal_number, siginfo_t* info, void* context) {
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const unsigned char* code = (const unsigned char*)registers[REG_RIP];
  /* A jump to nowhere faults at its own address, which must not be read. */
  if (info->si_code == SI_KERNEL && code[0] == 0x0f && code[1] == 0xa2) {
    answer(registers);
    return;
  }
  signal(signal_number, SIG_DFL); /* any other fault ends the program, when it comes again */
}

__attribute__((constructor)) static void hide(void) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
  if (sigaction(SIGSEGV, &action, NULL) != 0 || syscall(SYS_arch_prctl, kSetCpuid, 0) != 0) {
    fputs("hide_avx512: this kernel or processor cannot hide instruction sets\n", stderr);
    _exit(77);
  }
}
