// compiled: small
// The last steps of compilation: instructions are fused, dead ones dropped, registers assigned.
#include <algorithm>

#include "kernels/cpu/elementwise/compile.h"

namespace fettle::kernels::elementwise {
namespace {

template <typename F>
void ForEachSource(Instruction& in, F f) {
  for (Source* source : {&in.a, &in.b, &in.c}) f(*source);
}

bool SameSource(const Source& a, const Source& b) {
  return a.kind == b.kind && a.index == b.index && a.kind != Source::kImmediate;
}

}  // namespace

/// How often each virtual register is read.
std::vector<int> Compiler::Uses() const {
  std::vector<int> uses(program_.instructions_.size(), 0);
  for (const Instruction& in : program_.instructions_) {
    for (const Source& source : {in.a, in.b, in.c}) {
      if (source.kind == Source::kRegister) ++uses[source.index];
    }
  }
  return uses;
}

/// x * sigmoid(x) and a * b + c become one instruction each. Behind a product of integers a * b + c
/// keeps its two roundings: its result is quantised by its own range, where one more bit moves
/// values to another step, and every step after it.
void Compiler::Fuse() {
  const bool two_roundings =
      std::any_of(group_.nodes().begin(), group_.nodes().end(), [](const ir::Node& node) {
        return node.op == "ConvInteger"_op || node.op == "MatMulInteger"_op;
      });
  const std::vector<int> uses = Uses();
  auto& code = program_.instructions_;
  const auto single = [&](const Source& source, Fn fn) -> const Instruction* {
    if (source.kind != Source::kRegister || uses[source.index] != 1) return nullptr;
    const Instruction& in = code[source.index];
    return in.fn == fn ? &in : nullptr;
  };
  for (Instruction& in : code) {
    if (in.output >= 0) continue;
    for (const auto& [gate, other] : {std::pair(in.a, in.b), std::pair(in.b, in.a)}) {
      if (in.fn == Fn::kMul) {
        const Instruction* sigmoid = single(gate, Fn::kSigmoid);
        if (sigmoid != nullptr && SameSource(sigmoid->a, other)) {
          in = {.fn = Fn::kSwish, .dst = in.dst, .a = other, .p0 = 1};
          break;
        }
      } else if (in.fn == Fn::kAdd && !two_roundings) {
        const Instruction* product = single(gate, Fn::kMul);
        if (product != nullptr && product->a.kind != Source::kImmediate) {
          in = {.fn = Fn::kMulAdd, .dst = in.dst, .a = product->a, .b = product->b, .c = other};
          break;
        }
      }
    }
  }
}

/// Drops instructions that nobody reads, and lets the last one write the output itself where it
/// computes it alone.
void Compiler::DropDead() {
  auto& code = program_.instructions_;
  for (size_t i = code.size(); i-- > 0;) {
    if (code[i].output < 0 && Uses()[i] == 0) code[i] = {.dst = static_cast<int16_t>(i)};
  }
  std::vector<int16_t> renamed(code.size(), -1);
  std::vector<Instruction> kept;
  for (Instruction in : code) {
    if (in.output < 0 && in.a.kind == Source::kNone) continue;
    ForEachSource(in, [&](Source& source) {
      if (source.kind == Source::kRegister) source.index = renamed[source.index];
    });
    if (in.output < 0) renamed[in.dst] = static_cast<int16_t>(kept.size());
    in.dst = static_cast<int16_t>(kept.size());
    kept.push_back(in);
  }
  code = std::move(kept);
  if (program_.outputs_.size() == 1 && code.size() >= 2) {
    const Instruction& copy = code.back();
    Instruction& last = code[code.size() - 2];
    if (copy.a.kind == Source::kRegister && copy.a.index == last.dst &&
        Uses()[code.size() - 2] == 1) {
      last.output = 0;
      code.pop_back();
    }
  }
}

Status Compiler::AssignRegisters() {
  auto& code = program_.instructions_;
  std::vector<size_t> last_use(code.size(), 0);
  for (size_t i = 0; i < code.size(); ++i) {
    ForEachSource(code[i], [&](Source& source) {
      if (source.kind == Source::kRegister) last_use[source.index] = i;
    });
  }
  std::vector<int16_t> physical(code.size(), 0);
  std::vector<bool> taken(kMaxRegisters, false);
  for (size_t i = 0; i < code.size(); ++i) {
    Instruction& in = code[i];
    // A register read for the last time may take the result: elements are read before written.
    ForEachSource(in, [&](Source& source) {
      if (source.kind != Source::kRegister) return;
      const size_t id = source.index;
      source.index = physical[id];
      if (last_use[id] == i) taken[source.index] = false;
    });
    if (in.output >= 0) {
      in.dst = 0;
      continue;
    }
    const auto free = std::find(taken.begin(), taken.end(), false);
    if (free == taken.end()) return Unsupported("more than {} values alive", kMaxRegisters);
    *free = true;
    physical[i] = in.dst = static_cast<int16_t>(free - taken.begin());
  }
  return OkStatus();
}

}  // namespace fettle::kernels::elementwise
