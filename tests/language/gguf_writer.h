// Small GGUF files for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace fettle {

/// Puts a file together, front to back.
class GgufWriter {
 public:
  template <typename T>
  static void Put(std::string& to, T value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  static void PutText(std::string& to, const std::string& text) {
    Put<uint64_t>(to, text.size());
    to += text;
  }

  void Text(const std::string& key, const std::string& value) {
    Key(key, 8);
    PutText(values_, value);
  }
  void Int(const std::string& key, uint32_t value) {
    Key(key, 4);
    Put(values_, value);
  }
  void Float(const std::string& key, float value) {
    Key(key, 6);
    Put(values_, value);
  }
  void Flag(const std::string& key, bool value) {
    Key(key, 7);
    Put(values_, static_cast<uint8_t>(value));
  }
  void Texts(const std::string& key, const std::vector<std::string>& values) {
    Key(key, 9);
    Put<uint32_t>(values_, 8);
    Put<uint64_t>(values_, values.size());
    for (const std::string& value : values) PutText(values_, value);
  }
  template <typename T>
  void Numbers(const std::string& key, uint32_t type, const std::vector<T>& values) {
    Key(key, 9);
    Put<uint32_t>(values_, type);
    Put<uint64_t>(values_, values.size());
    for (T value : values) Put(values_, value);
  }
  /// Extents as the file has them: the innermost first.
  void Tensor(const std::string& name, uint32_t type, const std::vector<uint64_t>& extents,
              const std::string& bytes) {
    PutText(infos_, name);
    Put<uint32_t>(infos_, static_cast<uint32_t>(extents.size()));
    for (uint64_t extent : extents) Put(infos_, extent);
    Put(infos_, type);
    Put<uint64_t>(infos_, data_.size());
    data_ += bytes;
    data_.resize((data_.size() + 31) / 32 * 32);
    ++tensors_;
  }

  std::string Finish() const {
    std::string file = "GGUF";
    Put<uint32_t>(file, 3);
    Put<uint64_t>(file, tensors_);
    Put<uint64_t>(file, count_);
    file += values_ + infos_;
    file.resize((file.size() + 31) / 32 * 32);
    return file + data_;
  }

 private:
  void Key(const std::string& key, uint32_t type) {
    PutText(values_, key);
    Put(values_, type);
    ++count_;
  }

  std::string values_, infos_, data_;
  uint64_t tensors_ = 0, count_ = 0;
};

}  // namespace fettle
