// The members of a JSON object, each read once and judged: what nobody asked for is an error.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "io/json.h"

namespace fettle::tools {

/// The first error stays; what is read behind it is nothing.
class FactsReader {
 public:
  /// `where`: what messages call the object, which outlives this.
  FactsReader(const Json& object, std::string where);

  const Status& status() const { return status_; }
  void Fail(Status status);
  /// "WHERE.name".
  std::string PathOf(const char* name) const { return where_ + "." + name; }

  /// Fail where the member is missing, or is something else.
  const Json* Find(const char* name);
  std::string Text(const char* name);
  bool Flag(const char* name);
  int64_t Whole(const char* name, int64_t least, int64_t most);
  std::vector<std::string> Texts(const char* name);
  const Json* Object(const char* name);
  /// Null where the member is null.
  const Json* ObjectOrNull(const char* name);
  const Json* Array(const char* name);
  /// Members that are for people.
  void Skip(const char* name) { known_.insert(name); }

  /// An error, or the member that nothing asked for.
  Status Finish();

 private:
  const Json* Expect(const char* name, bool (Json::*is)() const noexcept, const char* what);

  const Json& object_;
  std::string where_;
  Status status_;
  std::set<std::string> known_;
};

}  // namespace fettle::tools
