
Btpj
locationw.bin