#include "passes/edit/equal_nodes.h"

#include <algorithm>
#include <type_traits>

namespace fettle::passes {
namespace {

bool SameAttribute(const ir::Attribute& a, const ir::Attribute& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&]<typename T>(const T& left) {
        const T& right = std::get<T>(b);
        if constexpr (std::is_same_v<T, Constant>) {
          return SameConstant(left, right);
        } else {
          return left == right;
        }
      },
      a);
}

}  // namespace

bool SameConstant(const Constant& a, const Constant& b) {
  if (a.source() != nullptr || b.source() != nullptr)
    return a.source() == b.source() && a.shape() == b.shape();
  if (a.dtype() != b.dtype() || a.shape() != b.shape() || a.is_splat() != b.is_splat() ||
      a.raw_bytes().size() != b.raw_bytes().size()) {
    return false;
  }
  if (a.raw_bytes().data() == b.raw_bytes().data()) return true;
  return a.raw_bytes().size() <= kComparedBytes && std::ranges::equal(a.bytes(), b.bytes());
}

bool SameAttributes(const ir::Attributes& a, const ir::Attributes& b) {
  return std::ranges::equal(a.items(), b.items(), [](const auto& left, const auto& right) {
    return left.first == right.first && SameAttribute(left.second, right.second);
  });
}

}  // namespace fettle::passes
