#include "tuner/row_key.h"

namespace fettle::tuner {

std::string_view Hardware(std::string_view fingerprint) {
  return fingerprint.substr(0, fingerprint.rfind("; driver "));
}

RowKey Subject(const RowKey& key) {
  RowKey subject = key;
  subject.device = Hardware(key.device);
  subject.protocol = 0;
  subject.build.clear();
  return subject;
}

}  // namespace fettle::tuner
