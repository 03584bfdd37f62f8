/*
 * SPDX-License-Identifier: MIT
 *
 * Lists the display adapters of a PC in the order in which DXGI names them to this program, one
 * line each: index, dedicated memory in MiB, vendor, name. `vvbuild bootloader probe` builds it
 * twice, with the files of bootloader_extra and without: the first adapter of the two lists
 * differs where the drivers listen to the hints. DirectML takes the first.
 *
 * dxgi.dll is loaded by name, so that a machine without it gets a sentence instead of a box.
 */
#define COBJMACROS
#define INITGUID
#include <windows.h>
#include <dxgi.h>
#include <stdio.h>

typedef HRESULT(WINAPI *create_factory)(REFIID, void **);

static int complain(const char *what, unsigned long code)
{
    printf("error %s 0x%08lx\n", what, code);
    return 1;
}

static void print_adapter(unsigned index, const DXGI_ADAPTER_DESC1 *about)
{
    char name[512];
    int length = WideCharToMultiByte(
        CP_UTF8, 0, about->Description, -1, name, sizeof name, NULL, NULL);
    printf("adapter %u %llu %04x %s%s\n", index,
           (unsigned long long)(about->DedicatedVideoMemory >> 20), about->VendorId,
           length > 0 ? name : "?",
           about->Flags & DXGI_ADAPTER_FLAG_SOFTWARE ? " (software)" : "");
}

int main(void)
{
    HMODULE library = LoadLibraryW(L"dxgi.dll");
    if (library == NULL)
        return complain("dxgi.dll", GetLastError());
    create_factory create = (create_factory)(void *)GetProcAddress(library, "CreateDXGIFactory1");
    if (create == NULL)
        return complain("CreateDXGIFactory1", GetLastError());
    IDXGIFactory1 *factory = NULL;
    HRESULT result = create(&IID_IDXGIFactory1, (void **)&factory);
    if (FAILED(result))
        return complain("CreateDXGIFactory1", (unsigned long)result);
    IDXGIAdapter1 *adapter = NULL;
    unsigned index = 0;
    while (IDXGIFactory1_EnumAdapters1(factory, index, &adapter) == S_OK) {
        DXGI_ADAPTER_DESC1 about;
        result = IDXGIAdapter1_GetDesc1(adapter, &about);
        IDXGIAdapter1_Release(adapter);
        if (FAILED(result))
            return complain("GetDesc1", (unsigned long)result);
        print_adapter(index++, &about);
    }
    IDXGIFactory1_Release(factory);
    printf("adapters %u\n", index);
    return 0;
}
