// Node attributes: named values of the kinds that ONNX knows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

namespace fettle::ir {

class Graph;

using Attribute =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                 std::vector<std::string>, Constant, std::shared_ptr<const Graph>>;

/// A small map sorted by name, whose copies share their items until one is changed. Reading an
/// attribute of another kind than it has gives the default.
class Attributes {
 public:
  Attributes();
  Attributes(std::initializer_list<std::pair<std::string, Attribute>> items);
  // Elsewhere: each file that copies a node would compile them for all kinds.
  Attributes(const Attributes& other);
  Attributes(Attributes&& other) noexcept;
  Attributes& operator=(const Attributes& other);
  Attributes& operator=(Attributes&& other) noexcept;
  ~Attributes();

  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  const Attribute* Find(std::string_view name) const;
  void Set(std::string_view name, Attribute value);
  void Erase(std::string_view name);

  int64_t Int(std::string_view name, int64_t fallback = 0) const;
  double Float(std::string_view name, double fallback = 0) const;
  std::string Text(std::string_view name, std::string_view fallback = "") const;
  std::vector<int64_t> Ints(std::string_view name, std::vector<int64_t> fallback = {}) const;
  std::vector<double> Floats(std::string_view name) const;
  std::vector<std::string> Texts(std::string_view name) const;
  std::shared_ptr<const Graph> SubGraph(std::string_view name) const;

  using Items = std::vector<std::pair<std::string, Attribute>>;
  /// Good until the next change.
  const Items& items() const;

 private:
  std::shared_ptr<const Items> items_;  // null: none
};

}  // namespace fettle::ir
