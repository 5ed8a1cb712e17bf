// How floating-point operations treat subnormal numbers: those nearer to zero than the smallest
// normal one, 1.2e-38 in fp32 and 2.2e-308 in fp64.
#pragma once

#include <cstdint>

namespace fettle {

enum class Subnormals : unsigned char {
  kKeep,   // as IEEE 754 says; an operation on one takes over 100 cycles on many processors
  kFlush,  // operands and results are zero of their sign
};

/// How the calling thread computes; kKeep where the processor has no choice.
Subnormals CurrentSubnormals();

/// How the calling thread computes until the scope ends, on the thread that began it, in reverse
/// order of scopes. Then all is as it was: the other bits of the thread's floating-point mode,
/// which are its owner's, are never touched. Threads that it starts meanwhile inherit it.
class SubnormalScope {
 public:
  explicit SubnormalScope(Subnormals subnormals);
  ~SubnormalScope();
  SubnormalScope(const SubnormalScope&) = delete;
  SubnormalScope& operator=(const SubnormalScope&) = delete;

 private:
  uint64_t before_;  // the bits concerned
};

}  // namespace fettle
