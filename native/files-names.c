#include "files-names.h"

#include <stdlib.h>
#include <string.h>

bool text_add(struct text *text, const char *bytes, size_t length) {
  if (text->room - text->length <= length) {
    size_t room = text->room * 2 > text->length + length + 1 ? text->room * 2 : text->length + length + 64;
    char *grown = realloc(text->bytes, room);
    if (!grown) return false;
    text->bytes = grown;
    text->room = room;
  }
  if (length > 0) memcpy(text->bytes + text->length, bytes, length);
  text->length += length;
  text->bytes[text->length] = '\0';
  return true;
}

void text_free(struct text *text) {
  free(text->bytes);
  memset(text, 0, sizeof *text);
}

bool names_push(struct names *names, const char *name, size_t length) {
  if (names->count == names->room) {
    size_t room = names->room ? names->room * 2 : 16;
    char **list = realloc(names->list, room * sizeof *list);
    if (!list) return false;
    names->list = list;
    names->room = room;
  }
  char *copy = strndup(name, length);
  if (!copy) return false;
  names->list[names->count++] = copy;
  return true;
}

bool names_push_path(struct names *names, const char *path, size_t length) {
  size_t end = length;
  while (end > 0) {
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/') begin -= 1;
    bool counts = end > begin && !(end - begin == 1 && path[begin] == '.');
    if (counts && !names_push(names, path + begin, end - begin)) return false;
    end = begin > 0 ? begin - 1 : 0;
  }
  return true;
}

char *names_pop(struct names *names) {
  return names->count > 0 ? names->list[--names->count] : NULL;
}

void names_free(struct names *names) {
  while (names->count > 0) free(names->list[--names->count]);
  free(names->list);
  memset(names, 0, sizeof *names);
}

static bool is_letter(uint8_t byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/* Whether the names go above where they begin. */
static bool leads_above(const uint8_t *path, size_t length) {
  size_t depth = 0, begin = 0;
  for (size_t at = 0; at <= length; at += 1) {
    if (at < length && path[at] != '/') continue;
    size_t own = at - begin;
    const uint8_t *name = path + begin;
    begin = at + 1;
    if (own == 0 || (own == 1 && name[0] == '.')) continue;
    if (own != 2 || name[0] != '.' || name[1] != '.') depth += 1;
    else if (depth-- == 0) return true;
  }
  return false;
}

const char *path_wrong(const uint8_t *path, size_t length) {
  if (length == 0) return "is empty";
  if (memchr(path, 0, length)) return "has a NUL in it";
  bool has_drive = length > 2 && is_letter(path[0]) && path[1] == ':' && (path[2] == '/' || path[2] == '\\');
  if (path[0] == '/' || has_drive) return "is absolute";
  if (memchr(path, '\\', length)) return "has a backslash in it";
  return leads_above(path, length) ? "leads outside" : NULL;
}

bool path_means_directory(const uint8_t *path, size_t length) {
  size_t begin = length;
  while (begin > 0 && path[begin - 1] != '/') begin -= 1;
  size_t own = length - begin;
  return own == 0 || (own <= 2 && path[begin] == '.' && path[length - 1] == '.');
}

/* Bytes of a character that HFS+ leaves out when it compares names (git, utf8.c, next_hfs_char); 0 where there is none. */
static size_t ignored_by_hfs(const unsigned char *at) {
  if (at[0] == 0xef) return at[1] == 0xbb && at[2] == 0xbf ? 3 : 0;
  if (at[0] != 0xe2) return 0;
  if (at[1] == 0x80 && ((at[2] >= 0x8c && at[2] <= 0x8f) || (at[2] >= 0xaa && at[2] <= 0xae))) return 3;
  return at[1] == 0x81 && at[2] >= 0xaa && at[2] <= 0xaf ? 3 : 0;
}

bool is_git_name(const char *name) {
  static const char git[] = ".git";
  size_t met = 0;
  for (const unsigned char *at = (const unsigned char *)name; *at;) {
    size_t ignored = ignored_by_hfs(at);
    if (ignored > 0) {
      at += ignored;
      continue;
    }
    unsigned char small = *at >= 'A' && *at <= 'Z' ? (unsigned char)(*at + 32) : *at;
    if (met == sizeof git - 1 || small != (unsigned char)git[met]) return false;
    met += 1;
    at += 1;
  }
  return met == sizeof git - 1;
}

/* How many bytes belong to the character that begins here; *whole: whether it is one. */
static size_t character(const unsigned char *at, bool *whole) {
  size_t length = at[0] < 0x80 ? 1 : at[0] >= 0xc2 && at[0] <= 0xdf ? 2 : (at[0] & 0xf0) == 0xe0 ? 3 : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4 : 0;
  unsigned char lowest = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80, highest = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
  *whole = length > 0;
  for (size_t next = 1; next < length; next += 1, lowest = 0x80, highest = 0xbf) {
    if (at[next] >= lowest && at[next] <= highest) continue;
    *whole = false;
    return next;
  }
  return length > 0 ? length : 1;
}

char *name_shown(const char *name) {
  const unsigned char *at = (const unsigned char *)name;
  bool whole = true;
  while (*at && whole) at += character(at, &whole);
  if (whole) return NULL;
  struct text shown = {0};
  for (at = (const unsigned char *)name; *at;) {
    size_t length = character(at, &whole);
    if (!(whole ? text_add(&shown, (const char *)at, length) : text_add(&shown, "\xef\xbf\xbd", 3))) {
      text_free(&shown);
      return NULL;
    }
    at += length;
  }
  return shown.bytes;
}
