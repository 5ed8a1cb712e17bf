// What a model needs and Fettle does not have, collected so that the user hears of it all at once.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fettle::onnx {

/// Of a value whose reader has heard why it cannot be had.
inline Status AlreadyReported() { return Status(StatusCode::kUnsupported, ""); }

class UnsupportedReport {
 public:
  /// One node of an unsupported operator. `reason` is empty where the operator is unknown.
  void AddOperator(std::string_view domain, std::string_view op_type, int64_t opset, size_t index,
                   std::string_view node_name, std::string_view reason);
  /// Anything else: "input 'x': element type string is not supported".
  void AddOther(std::string text);

  bool empty() const { return operators_.empty() && others_.empty(); }

  /// "2 unsupported operators: Foo (opset 13, 3 nodes, first #12 'x'), com.acme.Bar (...)"; ""
  /// where nothing was added. All are counted, the first hundred listed.
  std::string Text() const;
  /// One kUnsupported with that text; OK where nothing was added.
  Status ToStatus() const;

 private:
  struct Operator {
    std::string name;
    std::string reason;
    int64_t opset;
    size_t index;
    std::string node_name;
    int64_t nodes = 0;
  };
  std::vector<Operator> operators_;
  std::vector<std::string> others_;
  std::set<std::string> more_operators_, more_others_;  // beyond those that are listed
};

}  // namespace fettle::onnx
