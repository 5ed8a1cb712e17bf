// What a node's operator is, as far as code that does not compute it has to know.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace fettle::ir {

/// Properties of operators; each is said once, in the operator's row, and asked everywhere else.
enum class Trait : uint8_t {
  /// Computes each element of the broadcast inputs on its own: layout-agnostic, may join
  /// element-wise chains.
  kElementwise,
  /// Element-wise in the first operand, though not in the others.
  kPointwise,
  /// Kernels finish its results with an element-wise epilogue.
  kTakesEpilogue,
  /// Moves elements and computes none, so that quantised ones move as they are.
  kMovesElements,
  /// Output 0 has the bytes of input 0, under a shape of its own. These move elements, too.
  kKeepsBytes,
  /// Results lie between two numbers, whatever the operands.
  kBounded,
  /// Each element of the output is folded from many of input 0, along axes.
  kReduces,
  /// Elements are divided by what a set of their neighbours (ops::NormGroups) share.
  kNormalises,
  /// Makes or reads quantised integers, with scales or zero points beside them.
  kQuantises,
  /// The reference ignores its region and always computes all outputs (sorts, recurrences, several
  /// outputs).
  kWholeOutput,
  /// Runs sub-graphs (If, Loop, Scan): no reference; the runtime runs it.
  kControl,
  /// Differs from run to run (random generators); never folded.
  kRandom,
};

class Traits {
 public:
  constexpr Traits() = default;
  constexpr Traits(std::initializer_list<Trait> traits) {
    for (Trait trait : traits) bits_ |= Bit(trait);
  }
  constexpr bool Has(Trait trait) const { return (bits_ & Bit(trait)) != 0; }
  constexpr Traits operator|(Traits other) const {
    other.bits_ |= bits_;
    return other;
  }

 private:
  static constexpr uint32_t Bit(Trait trait) { return uint32_t{1} << static_cast<int>(trait); }
  uint32_t bits_ = 0;
};

/// The row of an operator. Rows live as long as the process.
struct OpDesc {
  /// Canonical name: that of the newest ONNX operator where there is one. Texts, databases and
  /// packages know operators by it.
  std::string_view name;
  Traits traits = {};
  int min_inputs = 1;
  int max_inputs = 1;   // -1: any number
  int max_outputs = 1;  // -1: any number
  /// Inputs that are read as host values at shape time (bit i = input i): Reshape's shape, Slice's
  /// starts ...
  uint32_t host_inputs = 0;

  bool Has(Trait trait) const { return traits.Has(trait); }
  bool ReadsOnHost(size_t input) const { return input < 32 && (host_inputs >> input & 1U) != 0; }
};

/// A table of operators: the row of a name, or null.
using OpTable = const OpDesc* (*)(std::string_view name);

/// The operator of a node: its row. Equal where the rows are the same one.
class OpRef {
 public:
  constexpr OpRef() = default;
  constexpr OpRef(const OpDesc* row) : row_(row) {}

  const OpDesc* operator->() const { return row_; }
  const OpDesc& operator*() const { return *row_; }
  explicit operator bool() const { return row_ != nullptr; }
  bool operator==(const OpRef&) const = default;

  /// For messages, texts and tables whose key is the name; empty for none.
  std::string_view name() const { return row_ == nullptr ? std::string_view() : row_->name; }
  operator std::string_view() const { return name(); }
  friend bool operator==(OpRef op, std::string_view name) { return op.name() == name; }

 private:
  const OpDesc* row_ = nullptr;
};

}  // namespace fettle::ir

template <>
struct fmt::formatter<fettle::ir::OpRef> : fmt::formatter<std::string_view> {
  auto format(fettle::ir::OpRef op, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format(op.name(), context);
  }
};
