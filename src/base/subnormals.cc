#include "base/subnormals.h"

namespace fettle {
namespace {

// Half types are not concerned: x86 keeps their subnormals in either mode, and AArch64 has a bit of
// their own (FZ16), which stays as it is.
#if defined(__x86_64__) || defined(__i386__)
constexpr uint64_t kFlushBits = 0x8040;  // MXCSR: FTZ for results, DAZ for operands
uint64_t ReadMode() { return __builtin_ia32_stmxcsr(); }
void WriteMode(uint64_t mode) { __builtin_ia32_ldmxcsr(static_cast<unsigned>(mode)); }
#elif defined(__aarch64__)
constexpr uint64_t kFlushBits = uint64_t{1} << 24;  // FPCR: FZ
uint64_t ReadMode() {
  uint64_t mode = 0;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
void WriteMode(uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
#else
constexpr uint64_t kFlushBits = 0;
uint64_t ReadMode() { return 0; }
void WriteMode(uint64_t) {}
#endif

/// Leaves the rest of the mode alone, the exceptions raised so far included.
void SetFlushBits(uint64_t bits) {
  const uint64_t mode = ReadMode();
  if ((mode & kFlushBits) != bits) WriteMode((mode & ~kFlushBits) | bits);
}

}  // namespace

Subnormals CurrentSubnormals() {
  const bool flushes = kFlushBits != 0 && (ReadMode() & kFlushBits) == kFlushBits;
  return flushes ? Subnormals::kFlush : Subnormals::kKeep;
}

SubnormalScope::SubnormalScope(Subnormals subnormals) : before_(ReadMode() & kFlushBits) {
  SetFlushBits(subnormals == Subnormals::kFlush ? kFlushBits : 0);
}

SubnormalScope::~SubnormalScope() { SetFlushBits(before_); }

}  // namespace fettle
