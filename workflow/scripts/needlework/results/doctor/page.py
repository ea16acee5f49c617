def write_page(found, templates, path):
    open(path,"w").write("stub")
