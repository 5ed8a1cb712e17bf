#include "foreign/facts_reader.h"

#include <algorithm>

#include "base/nearest.h"

namespace fettle::tools {

FactsReader::FactsReader(const Json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  if (!object.is_object()) Fail(InvalidArgument("{}: expected an object", where_));
}

void FactsReader::Fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

const Json* FactsReader::Find(const char* name) {
  known_.insert(name);
  const Json* found = Member(object_, name);
  if (found == nullptr) Fail(InvalidArgument("{}: is missing", PathOf(name)));
  return status_.ok() ? found : nullptr;
}

const Json* FactsReader::Expect(const char* name, bool (Json::*is)() const noexcept,
                                const char* what) {
  const Json* found = Find(name);
  if (found == nullptr || (found->*is)()) return found;
  Fail(InvalidArgument("{}: expected {}", PathOf(name), what));
  return nullptr;
}

std::string FactsReader::Text(const char* name) {
  const Json* found = Expect(name, &Json::is_string, "a text");
  return found == nullptr ? "" : found->get<std::string>();
}

bool FactsReader::Flag(const char* name) {
  const Json* found = Expect(name, &Json::is_boolean, "true or false");
  return found != nullptr && found->get<bool>();
}

int64_t FactsReader::Whole(const char* name, int64_t least, int64_t most) {
  const Json* found = Expect(name, &Json::is_number_integer, "a whole number");
  if (found == nullptr) return least;
  const bool fits =
      !found->is_number_unsigned() || found->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX);
  const int64_t value = fits ? found->get<int64_t>() : 0;
  if (fits && value >= least && value <= most) return value;
  Fail(InvalidArgument("{}: expected {} to {}, got {}", PathOf(name), least, most, found->dump()));
  return least;
}

std::vector<std::string> FactsReader::Texts(const char* name) {
  std::vector<std::string> texts;
  const Json* found = Array(name);
  for (size_t i = 0; found != nullptr && i < found->size(); ++i) {
    if (!(*found)[i].is_string()) Fail(InvalidArgument("{}: expected texts", PathOf(name)));
    if (status_.ok()) texts.push_back((*found)[i].get<std::string>());
  }
  return texts;
}

const Json* FactsReader::Object(const char* name) {
  return Expect(name, &Json::is_object, "an object");
}

const Json* FactsReader::ObjectOrNull(const char* name) {
  const Json* found = Find(name);
  return found == nullptr || found->is_null() ? nullptr : Object(name);
}

const Json* FactsReader::Array(const char* name) { return Expect(name, &Json::is_array, "a list"); }

Status FactsReader::Finish() {
  for (const auto& [name, value] : object_.items()) {
    if (!status_.ok() || known_.contains(name)) continue;
    const std::vector<std::string> names(known_.begin(), known_.end());
    Fail(InvalidArgument("{}: unknown field '{}'; known: {}", where_, name,
                         NearestNames(name, names)));
  }
  return status_;
}

}  // namespace fettle::tools
