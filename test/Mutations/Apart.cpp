//===- Apart.cpp - work in processes of its own ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Apart.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Errno.h"

#include <array>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fa4::mutations {

namespace {
struct Copy {
  pid_t process = 0;
  int pipe = -1;
  size_t number = 0;
  std::string text;
};
} // namespace

/// Does not return.
[[noreturn]] static void runCopy(int pipe, unsigned seconds, size_t number,
                                 llvm::function_ref<std::string(size_t)> work) {
  // Crash reports of a piece of work tell nobody anything.
  int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) {
    dup2(nowhere, STDERR_FILENO);
  }
  alarm(seconds);
  std::string text = work(number);
  llvm::StringRef rest = text;
  while (!rest.empty()) {
    ssize_t written =
        llvm::sys::RetryAfterSignal(-1, [&] { return write(pipe, rest.data(), rest.size()); });
    if (written <= 0) {
      _exit(1);
    }
    rest = rest.drop_front(static_cast<size_t>(written));
  }
  _exit(0);
}

static std::optional<Copy> startCopy(unsigned seconds, size_t number,
                                     llvm::function_ref<std::string(size_t)> work) {
  int ends[2];
  if (pipe(ends) != 0) {
    return std::nullopt;
  }
  Copy copy;
  copy.number = number;
  copy.process = fork();
  if (copy.process == 0) {
    close(ends[0]);
    runCopy(ends[1], seconds, number, work);
  }
  close(ends[1]);
  copy.pipe = ends[0];
  if (copy.process < 0) {
    close(ends[0]);
    return std::nullopt;
  }
  return copy;
}

/// Takes what the copy wrote; true if that was all.
static bool readCopy(Copy &copy) {
  std::array<char, 4096> buffer;
  ssize_t count = llvm::sys::RetryAfterSignal(
      -1, [&] { return read(copy.pipe, buffer.data(), buffer.size()); });
  if (count > 0) {
    copy.text.append(buffer.data(), static_cast<size_t>(count));
    return false;
  }
  return true;
}

void runApart(llvm::ArrayRef<size_t> numbers, unsigned jobs, unsigned seconds,
              llvm::function_ref<std::string(size_t)> work,
              llvm::function_ref<void(size_t, std::optional<std::string>)> done,
              llvm::function_ref<bool()> stop) {
  llvm::SmallVector<Copy> copies;
  while (true) {
    while (!numbers.empty() && copies.size() < jobs && !stop()) {
      std::optional<Copy> copy = startCopy(seconds, numbers.front(), work);
      if (!copy) {
        done(numbers.front(), std::nullopt);
      } else {
        copies.push_back(std::move(*copy));
      }
      numbers = numbers.drop_front();
    }
    if (copies.empty()) {
      return;
    }
    llvm::SmallVector<pollfd> watched;
    for (const Copy &copy : copies) {
      watched.push_back({copy.pipe, POLLIN, 0});
    }
    poll(watched.data(), watched.size(), -1);
    for (size_t index = copies.size(); index-- > 0;) {
      if (watched[index].revents == 0 || !readCopy(copies[index])) {
        continue;
      }
      Copy copy = std::move(copies[index]);
      copies.erase(copies.begin() + static_cast<ptrdiff_t>(index));
      close(copy.pipe);
      int status = 0;
      waitpid(copy.process, &status, 0);
      bool whole = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      done(copy.number, whole ? std::optional<std::string>(std::move(copy.text)) : std::nullopt);
    }
  }
}

} // namespace fa4::mutations
