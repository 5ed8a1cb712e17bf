// Products as models spell them: any order and nesting of Mul, Div by a constant, and small powers.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "passes/edit/editor.h"

namespace fettle::passes {

/// factor * values[0] * values[1] * ... * constants...
struct Product {
  double factor = 1;
  /// Relative precision with which the model writes the numbers that make up `factor`.
  double precision = 1e-6;
  std::vector<ir::ValueId> values;     // no constants; repeated for powers
  std::vector<ir::ValueId> constants;  // that are no single number

  bool FactorIs(double target) const;
  /// Takes `value` out of `values`; false where it is not there.
  bool Remove(ir::ValueId value);
};

/// The product that `root` computes. Looks through nodes between only if nothing else reads their
/// results. A value that is not a product is its own only factor.
Product FlattenProduct(const Editor& editor, ir::ValueId root);

/// Where `value` is x + c with one number c (a Sub of a number, too): the other operand. Nothing
/// else may read it.
struct Offset {
  ir::ValueId x = ir::kAbsent;
  double offset = 0;
};
std::optional<Offset> ReadOffset(const Editor& editor, ir::ValueId value);

/// Where `value` is the result of the unary operator `op` and nothing else reads it: its operand;
/// otherwise kAbsent.
ir::ValueId OperandOf(const Editor& editor, ir::ValueId value, ir::OpRef op);

}  // namespace fettle::passes
