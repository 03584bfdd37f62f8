/* Loads a program as data and prints exported DWORDs, or changes its resources as PyInstaller
 * does: `loader read FILE NAME...`, `loader resources FILE`. For tests, under Wine. */
#include <windows.h>
#include <stdio.h>
#include <string.h>

static int read_values(int count, char **words)
{
    HMODULE module = LoadLibraryExA(words[0], NULL, DONT_RESOLVE_DLL_REFERENCES);
    if (module == NULL)
        return printf("error %lu\n", GetLastError()), 1;
    for (int at = 1; at < count; at++) {
        DWORD *value = (DWORD *)(void *)GetProcAddress(module, words[at]);
        if (value == NULL)
            printf("%s none\n", words[at]);
        else
            printf("%s %lu\n", words[at], *value);
    }
    return 0;
}

static int change_resources(char *path)
{
    static char manifest[] = "<assembly xmlns='urn:schemas-microsoft-com:asm.v1'"
                             " manifestVersion='1.0'></assembly>";
    static char data[4096] = "an icon";
    HANDLE update = BeginUpdateResourceA(path, TRUE);
    if (update == NULL
        || !UpdateResourceA(update, RT_MANIFEST, MAKEINTRESOURCEA(1), 0, manifest, strlen(manifest))
        || !UpdateResourceA(update, RT_RCDATA, MAKEINTRESOURCEA(7), 1033, data, sizeof data)
        || !EndUpdateResourceA(update, FALSE))
        return printf("error %lu\n", GetLastError()), 1;
    return puts("changed"), 0;
}

int main(int count, char **words)
{
    if (count > 2 && strcmp(words[1], "read") == 0)
        return read_values(count - 2, words + 2);
    if (count > 2 && strcmp(words[1], "resources") == 0)
        return change_resources(words[2]);
    return puts("usage"), 2;
}
